import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { AwsError } from "../api/call.ts";
import { TtlCache } from "./ttl-cache.ts";

describe("a cached answer of AWS", () => {
  it("is shared by concurrent requests, and used until it expires", async () => {
    const clock = new VirtualClock();
    const cache = new TtlCache<number>(clock, 1_000);
    let asked = 0;
    const load = async (): Promise<number> => ++asked;
    expect(await Promise.all([cache.get("a", load), cache.get("a", load)])).toEqual([1, 1]);
    await clock.advance(999);
    expect(await cache.get("a", load)).toBe(1);
    await clock.advance(1);
    expect(await cache.get("a", load)).toBe(2);
    expect(await cache.get("b", load)).toBe(3);
  });

  it("is not kept if the call failed: the next request calls again", async () => {
    const cache = new TtlCache<number>(new VirtualClock(), 1_000);
    await expect(cache.get("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await cache.get("a", async () => 1)).toBe(1);
  });

  it("is used beyond its time while AWS throttles, and calls are repeated after a growing pause", async () => {
    const clock = new VirtualClock();
    const cache = new TtlCache<number>(clock, 1_000);
    let asked = 0;
    let throttled = false;
    const load = async (): Promise<number> => {
      asked++;
      if (throttled) throw new AwsError("RequestLimitExceeded", "slow down", 503);
      return asked;
    };
    expect(await cache.get("a", load)).toBe(1);
    throttled = true;
    for (let s = 0; s < 60; s++) {
      await clock.advance(1_000);
      expect(await cache.get("a", load)).toBe(1);
    }
    // After the first call, AWS is asked again at seconds 1, 2, 4, 8, 16, 32 and 48.
    expect(asked).toBe(1 + 7);
    throttled = false;
    await clock.advance(16_000);
    expect(await cache.get("a", load)).toBe(9);
  });

  it("is dropped an hour later, and without a cached answer the error is returned", async () => {
    const clock = new VirtualClock();
    const cache = new TtlCache<number>(clock, 1_000);
    const away = (): Promise<number> => Promise.reject(new AwsError("NetworkingError", "away", 0));
    await expect(cache.get("b", away)).rejects.toThrow("away");
    await cache.get("a", async () => 1);
    await clock.advance(3_600_000);
    expect(await cache.get("a", away)).toBe(1);
    await clock.advance(60_000);
    await expect(cache.get("a", away)).rejects.toThrow("away");
  });
});
