import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { TtlCache } from "./ttl-cache.ts";

describe("a kept answer", () => {
  it("is shared while it is asked for and until its time is over", async () => {
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

  it("is not a failure: the next question asks again", async () => {
    const cache = new TtlCache<number>(new VirtualClock(), 1_000);
    await expect(cache.get("a", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await cache.get("a", async () => 1)).toBe(1);
  });
});
