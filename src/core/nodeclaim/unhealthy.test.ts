import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import { isTooMany } from "../repair/breaker.ts";
import { ailment, BrokenCount } from "./unhealthy.ts";

const POLICIES = [
  {
    conditionType: "Ready",
    conditionStatus: "False",
    tolerationMs: 0,
    priority: 0,
    action: "ReplaceNode",
  },
] as const;
const POOLS = ["nodepool/a", "nodepool/b", undefined];

function nodeThat(isBroken: boolean): Node {
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const status = isBroken ? "False" : "True";
  const conditions = [{ type: "Ready", status, lastTransitionTime } as const];
  return { metadata: { name: "n" }, status: { conditions } };
}

describe("how many nodes are broken", () => {
  it("is kept as it would be counted, for each pool and for all", () => {
    const change = fc.record({
      index: fc.nat(9),
      isGone: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
      isBroken: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
      poolId: fc.constantFrom(...POOLS),
    });
    const seen = new Set<boolean>();
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60, size: "max" }), (changes) => {
        const count = new BrokenCount();
        const there = new Map<number, { poolId: string | undefined; node: Node }>();
        for (const { index, isGone, isBroken, poolId } of changes) {
          const node = nodeThat(isBroken);
          if (isGone) count.remove(String(index));
          else
            count.put(String(index), { poolId, isBroken: ailment(node, POLICIES) !== undefined });
          if (isGone) there.delete(index);
          else there.set(index, { poolId, node });
          for (const id of POOLS) {
            const own = [...there.values()].filter((one) => id === undefined || one.poolId === id);
            const broken = own.filter((one) => ailment(one.node, POLICIES) !== undefined).length;
            const wanted = isTooMany(broken, own.length);
            expect(count.tooMany(id)).toBe(wanted);
            seen.add(wanted);
          }
        }
      }),
      { seed: 5, numRuns: 60 },
    );
    expect(seen.size).toBe(2);
  });
});
