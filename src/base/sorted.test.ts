import { expect, it } from "vitest";
import { firstNotBelow } from "./sorted.ts";

it("firstNotBelow finds where a value is, or where it would be inserted", () => {
  const list = [1, 3, 3, 7];
  const at = (value: number) => firstNotBelow(list.length, (index) => (list[index] ?? 0) < value);
  expect([0, 1, 2, 3, 4, 7, 8].map(at)).toEqual([0, 0, 1, 1, 3, 3, 4]);
  expect(firstNotBelow(0, () => true)).toBe(0);
});
