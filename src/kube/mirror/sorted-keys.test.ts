import { describe, expect, it } from "vitest";
import { Random } from "../../base/random.ts";
import { placeOf, SortedKeys } from "./sorted-keys.ts";

const name = (index: number) => `key-${index}`;

describe("sorted keys", () => {
  it("has all keys in order at any time, also during a stepwise sort", () => {
    for (const seed of ["a", "b", "c"]) {
      const random = new Random(seed);
      const keys = new SortedKeys();
      const there = new Set<string>();
      const change = () => {
        const key = name(random.int(100_000));
        if (there.delete(key)) keys.remove(key);
        else {
          there.add(key);
          keys.add(key);
        }
      };
      for (let round = 0; round < 3; round++) {
        for (let index = 0; index < 15_000; index++) change();
        let steps = 0;
        for (const _ of keys.ready()) {
          change();
          // Some callers need the keys before the steps have ended.
          if (++steps === 3 && round === 1) expect(keys.all()).toEqual([...there].sort());
        }
        expect(steps).toBeGreaterThan(3);
        expect(keys.all()).toEqual([...there].sort());
      }
    }
  });

  it("is the same array until a key is added or removed", () => {
    const keys = new SortedKeys();
    for (const key of ["b", "a"]) keys.add(key);
    const all = keys.all();
    expect(keys.all()).toBe(all);
    keys.add("c");
    keys.remove("c");
    expect(keys.all()).toBe(all);
    keys.remove("a");
    expect(keys.all()).toEqual(["b"]);
    expect(all).toEqual(["a", "b"]);
  });

  it("finds the index of a key", () => {
    expect(["a", "b", "bb", "c", ""].map((key) => placeOf(["a", "b", "c"], key))).toEqual([
      0, 1, -1, 2, -1,
    ]);
  });
});
