import { describe, expect, it } from "vitest";
import type { Node } from "../../apis/core/node.ts";
import type { Condition } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import { brokenConditionsOf } from "./broken-conditions.ts";
import { repairDecision, urgencies } from "./repair-decision.ts";

const NOW = Date.UTC(2026, 0, 5);
const MINUTE_MS = 60_000;

const any = (words: string) => ({ source: words, matches: (text: string) => text.includes(words) });

const policy = (change: Partial<RepairPolicy> = {}): RepairPolicy => ({
  conditionType: "Disk",
  conditionStatus: "False",
  tolerationMs: 10 * MINUTE_MS,
  priority: 0,
  action: "ReplaceNode",
  ...change,
});

const FALLBACK = policy({ conditionType: "Gpu", tolerationMs: 30 * MINUTE_MS });
const READ_ONLY = policy({ reasonRegex: any("ReadOnly"), terminationGracePeriodMs: 5_000 });
const FULL = policy({
  reasonRegex: any("Full"),
  action: "RebootNode",
  priority: 50,
  terminationGracePeriodMs: 1_000,
});
const SET = [READ_ONLY, FULL, FALLBACK];

const condition = (reason: string, forMs: number, change: Partial<Condition> = {}): Condition => ({
  type: "Disk",
  status: "False",
  reason,
  lastTransitionTime: toRfc3339(NOW - forMs),
  ...change,
});

const node = (conditions: readonly Condition[], ageMs = 24 * 60 * MINUTE_MS): Node => ({
  metadata: { name: "a", creationTimestamp: toRfc3339(NOW - ageMs) },
  status: { conditions },
});

describe("brokenConditionsOf", () => {
  const found = (conditions: readonly Condition[], ...more: [number?]) =>
    brokenConditionsOf(node(conditions), SET, ...more).map(({ policy: one, dueMs }) => [
      SET.indexOf(one),
      (dueMs - NOW) / MINUTE_MS,
    ]);

  it("takes every policy that matches the reason, else the fallback policy", () => {
    expect(found([condition("DiskFullAndReadOnly", MINUTE_MS)])).toEqual([
      [0, 9],
      [1, 9],
    ]);
    expect(found([condition("Smoke", MINUTE_MS)])).toEqual([[2, 29]]);
    expect(found([condition("Smoke", MINUTE_MS, { type: "Gpu" })])).toEqual([[2, 29]]);
    expect(found([condition("Smoke", MINUTE_MS, { type: "Fan" })])).toEqual([]);
    expect(found([condition("ReadOnly", MINUTE_MS, { status: "Unknown" })])).toEqual([]);
  });

  it("counts from the node's creation or its last reboot, if later than the condition", () => {
    const broken = [condition("ReadOnly", 60 * MINUTE_MS)];
    expect(found(broken)).toEqual([[0, -50]]);
    expect(found(broken, NOW - 4 * MINUTE_MS)).toEqual([[0, 6]]);
    const young = brokenConditionsOf(node(broken, 2 * MINUTE_MS), SET);
    expect(young.map(({ dueMs }) => dueMs - NOW)).toEqual([8 * MINUTE_MS]);
  });
});

describe("repairDecision", () => {
  const treated = (conditions: readonly Condition[]) =>
    repairDecision(brokenConditionsOf(node(conditions), SET), NOW);

  it("prefers replacement to reboot, with the shortest grace period of the due policies", () => {
    const both = treated([condition("DiskFullAndReadOnly", 20 * MINUTE_MS)]);
    expect([both?.action, both?.condition.reason, both?.graceMs]).toEqual([
      "ReplaceNode",
      "DiskFullAndReadOnly",
      1_000,
    ]);
    expect(both?.condition.policy).toBe(READ_ONLY);
    expect(treated([condition("Full", 20 * MINUTE_MS)])?.action).toBe("RebootNode");
  });

  it("is undefined before a policy is due, and has no grace period if no policy has one", () => {
    expect(treated([condition("Full", 9 * MINUTE_MS)])).toBeUndefined();
    const fallback = treated([condition("Smoke", 40 * MINUTE_MS)]);
    expect([fallback?.action, fallback?.graceMs]).toEqual(["ReplaceNode", undefined]);
  });
});

describe("urgencies", () => {
  it("add one rank for each half hour overdue to the priority rank of the node's most urgent condition", () => {
    const of = (reason: string, overdueMinutes: number) =>
      brokenConditionsOf(node([condition(reason, (overdueMinutes + 10) * MINUTE_MS)]), SET);
    const all = [of("ReadOnly", 60), of("Full", 15), of("DiskFullAndReadOnly", 0), of("Full", -1)];
    expect(urgencies(all, NOW)).toEqual([2, 1.5, 1, 0]);
  });
});
