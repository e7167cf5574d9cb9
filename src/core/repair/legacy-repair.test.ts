import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import { isTooMany } from "./breaker.ts";
import { BrokenCount, unhealthyCondition } from "./legacy-repair.ts";

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

describe("BrokenCount", () => {
  it("is the same as a full count, for each pool and for all nodes", () => {
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
            count.put(String(index), {
              poolId,
              isBroken: unhealthyCondition(node, POLICIES) !== undefined,
            });
          if (isGone) there.delete(index);
          else there.set(index, { poolId, node });
          for (const id of POOLS) {
            const own = [...there.values()].filter((one) => id === undefined || one.poolId === id);
            const broken = own.filter(
              (one) => unhealthyCondition(one.node, POLICIES) !== undefined,
            ).length;
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

describe("the condition that makes a node unhealthy", () => {
  const SINCE = Date.UTC(2026, 0, 5);
  const policy = (conditionType: string, tolerationMs: number, more: Partial<RepairPolicy> = {}) =>
    ({ ...POLICIES[0], conditionType, tolerationMs, ...more }) as RepairPolicy;
  function dueIn(policies: readonly RepairPolicy[], reason = "", at?: string): number | undefined {
    const lastTransitionTime = at ?? new Date(SINCE).toISOString();
    const conditions = [
      { type: "Disk", status: "True", lastTransitionTime } as const,
      { type: "Ready", status: "False", lastTransitionTime, reason } as const,
    ];
    const node: Node = { metadata: { name: "n" }, status: { conditions } };
    const found = unhealthyCondition(node, policies);
    return found && found.dueMs - found.sinceMs;
  }

  it("has the type and status of a repair policy", () => {
    expect(dueIn([policy("Ready", 5)])).toBe(5);
    expect(dueIn([policy("Disk", 5), policy("Network", 5)])).toBeUndefined();
    expect(unhealthyCondition({ metadata: { name: "n" } }, POLICIES)).toBeUndefined();
  });

  it("is the one that is due first, or that of the first policy", () => {
    const disk = policy("Disk", 3, { conditionStatus: "True" });
    expect(dueIn([policy("Ready", 5), disk, policy("Ready", 4)])).toBe(3);
    const found = unhealthyCondition(nodeThat(true), [policy("Ready", 0), policy("Ready", 0)]);
    expect(found).toEqual({
      conditionType: "Ready",
      conditionStatus: "False",
      sinceMs: Date.UTC(2026, 0, 1),
      dueMs: Date.UTC(2026, 0, 1),
    });
  });

  it("must match reasonRegex, and belong to no reboot policy", () => {
    const reasonRegex = { source: "Gone", matches: (reason: string) => reason === "Gone" };
    const named = policy("Ready", 5, { reasonRegex });
    expect([dueIn([named], "Gone"), dueIn([named], "Other")]).toEqual([5, undefined]);
    expect(dueIn([policy("Ready", 5, { action: "RebootNode" })])).toBeUndefined();
  });

  it("must have a lastTransitionTime", () => {
    expect(dueIn([policy("Ready", 5)], "", "")).toBeUndefined();
  });
});
