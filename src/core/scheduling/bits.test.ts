import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bitIndices, countBits, firstOutside, Marks, noBits, setBit } from "./bits.ts";

function marks(members: Iterable<number>): Marks {
  const result = new Marks();
  for (const one of members) result.add(one);
  return result;
}

describe("marks", () => {
  const members = fc.uniqueArray(fc.integer({ min: 0, max: 300 }));

  it("visit members that are in none of the other sets, in ascending order", () => {
    fc.assert(
      fc.property(members, members, members, members, (all, gone, dead, excluded) => {
        const walked = marks(all);
        for (const one of gone) walked.delete(one);
        const others = [marks(dead), marks(excluded)];
        const found: number[] = [];
        for (let next = walked.nextOutside(others, 0); next >= 0; ) {
          found.push(next);
          next = walked.nextOutside(others, next + 1);
        }
        const left = new Set(all);
        for (const one of [...gone, ...dead, ...excluded]) left.delete(one);
        expect(found).toEqual([...left].sort((a, b) => a - b));
      }),
    );
  });

  it("find the first index that is in none of several sets", () => {
    const start = fc.integer({ min: 0, max: 200 });
    fc.assert(
      fc.property(members, members, members, start, (own, other, third, from) => {
        const taken = new Set([...own, ...other, ...third]);
        let first = from;
        while (taken.has(first)) first++;
        expect(marks(own).firstMissing(from, marks(other), marks(third))).toBe(first);
      }),
    );
  });

  it("skip indices of other sets, also after those have changed", () => {
    const walked = marks(Array.from({ length: 200 }, (_, index) => index));
    const dead = marks(Array.from({ length: 130 }, (_, index) => index));
    expect(walked.nextOutside([dead], 0)).toBe(130);
    for (let index = 130; index < 170; index++) dead.add(index);
    expect(walked.nextOutside([dead], 0)).toBe(170);
    dead.delete(64);
    expect(walked.nextOutside([dead], 0)).toBe(64);
  });
});

describe("bits", () => {
  const SIZE = 100;
  // Sets with few members, or with about half of all numbers, so that some words are full.
  const members = fc.oneof(
    fc.uniqueArray(fc.integer({ min: 0, max: SIZE - 1 })),
    fc
      .array(fc.boolean(), { minLength: SIZE, maxLength: SIZE })
      .map((has) => has.flatMap((one, index) => (one ? index : []))),
  );
  const bitsOf = (indices: readonly number[]) => {
    const bits = noBits(SIZE);
    for (const index of indices) setBit(bits, index);
    return bits;
  };

  it("count and list their members, and find the first one that another set lacks", () => {
    fc.assert(
      fc.property(members, members, (some, others) => {
        const [bits, without] = [bitsOf(some), bitsOf(others)];
        expect(countBits(bits)).toBe(some.length);
        expect(bitIndices(bits)).toEqual(some.toSorted((a, b) => a - b));
        const lacking = some.filter((one) => !others.includes(one));
        expect(firstOutside(bits, without)).toBe(lacking.length === 0 ? -1 : Math.min(...lacking));
      }),
    );
  });
});
