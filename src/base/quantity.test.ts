import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMilli, parseNano, parseUnits } from "./quantity.ts";

describe("a quantity as a plain number", () => {
  it("equals exact arithmetic, rounded up, for any digits and suffix", () => {
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

  it("is at most apimachinery's maximum, whatever its exponent", () => {
    const most = Number(2n ** 63n - 1n);
    const amounts = [
      "1e999999999",
      "1e19",
      "9223372036854775808",
      "9Ei",
      "-1e99999",
      "0e999999999",
    ];
    expect(amounts.map(parseUnits)).toEqual([most, most, most, most, -most, 0]);
    expect(["1e-999999999", "0.5e-99999"].map((text) => parseNano(text))).toEqual([1n, 1n]);
    expect(parseUnits("8e18")).toBe(8e18);
  });
});
