import { describe, expect, it } from "vitest";
import { repackVerdict } from "./repack.ts";

/** The first seeds of `npm run fuzz -- repack`, and seeds where a pending pod once joined two pool groups. */
const SEEDS = [...Array.from({ length: 20 }, (_, seed) => seed), 71, 145];

describe("repack of random clusters", () => {
  it("keeps a place for each pod, costs less whatever is launched, obeys budgets and ignores other nodes", async () => {
    const moved: { out: number; in: number }[] = [];
    for (const seed of SEEDS) {
      const verdict = await repackVerdict(seed);
      expect({ seed, faults: verdict.faults }).toEqual({ seed, faults: [] });
      if (verdict.moved !== undefined) moved.push(verdict.moved);
    }
    // A repack of several nodes by several must occur, otherwise the test proves little.
    expect(moved.some((one) => one.out > 1 && one.in > 1)).toBe(true);
  });
});
