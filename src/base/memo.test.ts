import { expect, it } from "vitest";
import { Memo } from "./memo.ts";

it("a memo computes each value once, and drops the first one above its number", () => {
  const made: string[] = [];
  const memo = new Memo((text) => {
    made.push(text);
    return text.length;
  }, 2);
  expect(["a", "a", "bb", "a", "ccc", "bb", "a"].map((text) => memo.get(text))).toEqual([
    1, 1, 2, 1, 3, 2, 1,
  ]);
  expect(made).toEqual(["a", "bb", "ccc", "a"]);
});
