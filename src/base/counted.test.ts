import { expect, it } from "vitest";
import { counted, grouped } from "./counted.ts";

it("counted numbers have separated thousands, and a plural noun unless the number is 1", () => {
  expect(grouped(1_000_000)).toBe("1,000,000");
  expect([0, 1, 12_000].map((count) => counted(count, "pod"))).toEqual([
    "0 pods",
    "1 pod",
    "12,000 pods",
  ]);
  expect(counted(2, "policy", "policies")).toBe("2 policies");
});
