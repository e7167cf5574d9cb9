import { describe, expect, it } from "vitest";
import { canonicalQuantity } from "./canonical-quantity.ts";

describe("canonical quantities", () => {
  it.each([
    ["1000m", "1"],
    [0.5, "500m"],
    ["1500m", "1500m"],
    ["1024Mi", "1Gi"],
    ["1.5Gi", "1536Mi"],
    ["0.5Gi", "512Mi"],
    ["1000", "1k"],
    ["2e3", "2e3"],
    ["0", "0"],
    ["100M", "100M"],
    ["-1", "-1"],
    ["1Ki", "1Ki"],
    ["12345678", "12345678"],
    ["1e3", "1e3"],
  ])("spells %s as %s", (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });

  it("are undefined for text that is no quantity", () => {
    for (const text of ["", "abc", "1.2.3", "1 Gi", "5X"])
      expect(canonicalQuantity(text)).toBeUndefined();
  });
});
