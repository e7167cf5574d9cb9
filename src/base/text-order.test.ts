import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "./steps.ts";
import { sortedByTextInSteps } from "./text-order.ts";

describe("items sorted by a string each", () => {
  it("are in string order, equal ones by the tie-breaker", () => {
    const text = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b", "-", "\0", "ǿ", "Ȁ", "語"), maxLength: 8 }),
      fc.uuid(),
    );
    const lists = fc.array(fc.record({ text, id: fc.nat(9) }), { maxLength: 60 });
    fc.assert(
      fc.property(lists, fc.constantFrom("", "pod-"), (items, stem) => {
        const texts = items.map((one) => stem + one.text);
        const byId = (a: { id: number }, b: { id: number }) => a.id - b.id;
        const expected = items.toSorted((a, b) =>
          a.text === b.text ? byId(a, b) : a.text < b.text ? -1 : 1,
        );
        expect(atOnce(sortedByTextInSteps(items, texts, byId))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it("are sorted alike, whether there are few or many", () => {
    const texts = fc.sample(fc.uuid(), { numRuns: 1_500, seed: 1 });
    const never = () => expect.fail("no two are equal");
    for (const count of [2, 1_024, 1_025, 1_500]) {
      const some = texts.slice(0, count);
      expect(new Set(some).size).toBe(count);
      expect(atOnce(sortedByTextInSteps(some, some, never))).toEqual(some.toSorted());
    }
  });
});
