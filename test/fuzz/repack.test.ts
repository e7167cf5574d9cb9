import { describe, expect, it } from "vitest";
import { repackVerdict } from "./repack.ts";

/** The first seeds of `npm run fuzz -- repack`, and those where a pod that waits once made two groups one. */
const SEEDS = [...Array.from({ length: 20 }, (_, seed) => seed), 71, 145];

describe("repack of clusters drawn by lot", () => {
  it("leaves each pod a place, is cheaper whatever is launched, keeps to budgets, minds no stranger", async () => {
    const moved: { out: number; in: number }[] = [];
    for (const seed of SEEDS) {
      const verdict = await repackVerdict(seed);
      expect({ seed, faults: verdict.faults }).toEqual({ seed, faults: [] });
      if (verdict.moved !== undefined) moved.push(verdict.moved);
    }
    // Many for several is among them, or this would prove little.
    expect(moved.some((one) => one.out > 1 && one.in > 1)).toBe(true);
  });
});
