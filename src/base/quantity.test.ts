import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMilli, parseNano, parseUnits } from "./quantity.ts";

describe("a quantity as a plain number", () => {
  it("is what exact reckoning gives, rounded up, whatever its digits and suffix", () => {
    const digits = fc.nat(2_000_000_000).map(String);
    const suffix = fc.constantFrom("", "m", "k", "M", "G", "Ki", "Mi", "Gi", "n", "T");
    const upFrom = (nano: bigint, by: bigint) => Number((nano + by - 1n) / by);
    fc.assert(
      fc.property(digits, suffix, (number, unit) => {
        const nano = parseNano(number + unit) as bigint;
        expect(parseUnits(number + unit)).toBe(upFrom(nano, 1_000_000_000n));
        expect(parseMilli(number + unit)).toBe(upFrom(nano, 1_000_000n));
      }),
    );
  });
});
