import { expect, it } from "vitest";
import { BoundedMap, within } from "./within.ts";

it("makes a value once for each key, also in a WeakMap", () => {
  const key = {};
  for (const map of [new Map<object, number[]>(), new WeakMap<object, number[]>()]) {
    within(map, key, () => []).push(1);
    within(map, key, () => []).push(2);
    expect(map.get(key)).toEqual([1, 2]);
  }
});

it("a BoundedMap keeps up to its number of values, and is emptied for one more", () => {
  const kept = new BoundedMap<string, number>(2);
  const sizes = ["a", "b", "a", "c", "a"].map((key) => {
    within(kept, key, () => 1);
    return kept.size;
  });
  expect(sizes).toEqual([1, 2, 2, 1, 2]);
});
