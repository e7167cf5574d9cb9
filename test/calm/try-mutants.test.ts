/** When a mutant counts as seen: a day fails without the rule and does not fail with it. */
import { describe, expect, it } from "vitest";
import { type DayFault, seeDays } from "./try-mutants.ts";

describe("a mutant, that is Karpenter without one rule,", () => {
  /** A play function that fails on the days of these seeds. */
  const wrongOn =
    (...seeds: readonly number[]) =>
    async (days: readonly number[]): Promise<DayFault | undefined> => {
      const seed = days.find((day) => seeds.includes(day));
      return seed === undefined ? undefined : { seed, fault: `fault of ${seed}` };
    };
  const DAYS = [4, 7, 9];

  it("is caught on the first day that fails without the removed rule and passes with it", async () => {
    const seen = await seeDays(DAYS, { without: wrongOn(7, 9), with: wrongOn() });
    expect(seen).toEqual({ isCaught: true, told: "seen after 2, seed 7: fault of 7" });
  });

  it("is not caught on a day that also fails with the rule", async () => {
    const seen = await seeDays(DAYS, { without: wrongOn(4, 9), with: wrongOn(4) });
    const also = "wrong with the rule as well: 4";
    expect(seen).toEqual({ isCaught: true, told: `seen after 3, seed 9: fault of 9; ${also}` });
  });

  it("is not caught if no day fails without the rule, or if all days also fail with it", async () => {
    const quiet = await seeDays(DAYS, { without: wrongOn(), with: wrongOn() });
    expect(quiet).toEqual({ isCaught: false, told: "NOT SEEN in 3 days: 4, 7, 9" });
    const loud = await seeDays(DAYS, { without: wrongOn(...DAYS), with: wrongOn(...DAYS) });
    expect(loud.isCaught).toBe(false);
    expect(loud.told).toContain("wrong with the rule as well: 4,7,9");
  });
});
