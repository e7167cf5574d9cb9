import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../base/steps.ts";
import { nodeView } from "../../testing/builders.ts";
import type { NodeView } from "./node-view.ts";
import { ViewList } from "./view-list.ts";

const POOLS = ["a", undefined];

describe("ViewList", () => {
  it("is sorted by name after any changes, and lists returned earlier do not change", () => {
    const change = fc.record({ key: fc.integer({ min: 0, max: 9 }), isGone: fc.boolean() });
    fc.assert(
      fc.property(fc.array(fc.array(change), { maxLength: 6 }), (rounds) => {
        const list = new ViewList(2);
        const now = new Map<string, NodeView>();
        for (const [round, changes] of rounds.entries()) {
          // Changes are made while the list processes earlier changes.
          const catchingUp = list.catchUp((key) => now.get(key));
          const before = list.snapshot((key) => now.get(key));
          const copy = [...before];
          for (const { key, isGone } of changes) {
            // The order of keys differs from the order of names.
            const name = `node-${(key * 7) % 10}`;
            if (isGone) now.delete(String(key));
            else
              now.set(String(key), { ...nodeView({ node: { name } }), poolId: POOLS[round % 2] });
            list.touch(String(key));
            if (round % 2 === 1) catchingUp.next();
          }
          if (round % 3 === 1) atOnce(catchingUp);
          const after = list.snapshot((key) => now.get(key));
          const wanted = [...now.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
          for (const [at, view] of after.entries()) expect(view).toBe(wanted[at]);
          expect(after.map(({ name }) => name)).toEqual(wanted.map(({ name }) => name));
          for (const id of ["a", "b"])
            expect(list.ownsNodes(id)).toBe(wanted.some(({ poolId }) => poolId === id));
          expect(before).toEqual(copy);
          if (changes.length === 0) expect(after).toBe(before);
        }
      }),
      { seed: 7, numRuns: 60 },
    );
  });
});
