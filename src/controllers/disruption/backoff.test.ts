import { describe, expect, it } from "vitest";
import { createBackoff } from "./backoff.ts";

const MINUTE = 60_000;

describe("patience with pools whose replacements fail", () => {
  it("doubles with each command that fails, up to ten minutes, and begins anew after one that does not", () => {
    const backoff = createBackoff();
    const waits = ["a", "b", "c", "d", "e", "f"].map((id) => backoff.failed(id, ["pool"], 0));
    expect(waits).toEqual([1, 2, 4, 8, 10, 10].map((minutes) => minutes * MINUTE));
    expect(backoff.pools(10 * MINUTE - 1)).toEqual(new Map([["pool", 10 * MINUTE]]));
    expect(backoff.pools(10 * MINUTE)).toEqual(new Map());
    backoff.succeeded("pool");
    expect(backoff.failed("g", ["pool"], 0)).toBe(MINUTE);
  });

  it("counts a command once, whatever of it failed and however often its end is tried", () => {
    const backoff = createBackoff();
    expect(backoff.failed("a", ["pool", "pool", "other"], 0)).toBe(MINUTE);
    expect(backoff.failed("a", ["pool", "pool", "other"], 5_000)).toBe(MINUTE);
    expect(backoff.failed("b", ["pool"], MINUTE)).toBe(3 * MINUTE);
    expect(backoff.pools(MINUTE)).toEqual(new Map([["pool", 3 * MINUTE]]));
  });
});
