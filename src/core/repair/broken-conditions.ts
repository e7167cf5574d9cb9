/**
 * Finds the broken conditions of a node: conditions whose type and status a repair policy names. A policy may also have
 * a regular expression for the reason of the condition. If no such expression matches, the fallback policy applies: the
 * first policy without an expression.
 * upstream: pkg/controllers/node/health/policy.go
 */
import type { Node } from "../../apis/core/node.ts";
import type { Condition } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";

/** A condition of a Node, and the repair policy that applies to it. */
export interface BrokenCondition {
  readonly policy: RepairPolicy;
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly reason: string;
  readonly sinceMs: number;
  /**
   * When the node may be repaired: the toleration of the policy after `sinceMs`, or after the node was created or last
   * rebooted, if that was later.
   */
  readonly dueMs: number;
}

/**
 * All broken conditions of a node, in the order of the Node's conditions. If several policies apply to a condition,
 * there is one entry for each, in the order of the policies. `rebootedMs`: when the last reboot of the node ended.
 */
export function brokenConditionsOf(
  node: Node,
  policies: readonly RepairPolicy[],
  rebootedMs?: number,
): readonly BrokenCondition[] {
  const conditions = node.status?.conditions;
  if (conditions === undefined || policies.length === 0) return NONE;
  const index = indexOf(policies);
  let found: BrokenCondition[] | undefined;
  for (const condition of conditions) {
    const specific = index.byPair.get(pairOf(condition.type, condition.status));
    const sinceMs = specific === undefined ? undefined : fromRfc3339(condition.lastTransitionTime);
    if (specific === undefined || sinceMs === undefined) continue;
    found ??= [];
    for (const policy of policiesFor(condition, specific, index.fallback)) {
      const { tolerationMs } = policy;
      const bornMs = fromRfc3339(node.metadata.creationTimestamp) ?? sinceMs;
      found.push({
        policy,
        conditionType: condition.type,
        conditionStatus: condition.status,
        reason: condition.reason ?? "",
        sinceMs,
        dueMs: Math.max(sinceMs, bornMs, rebootedMs ?? 0) + tolerationMs,
      });
    }
  }
  return found ?? NONE;
}

const NONE: readonly BrokenCondition[] = [];

function policiesFor(
  { reason = "" }: Condition,
  specific: readonly RepairPolicy[],
  fallback: RepairPolicy | undefined,
): readonly RepairPolicy[] {
  const matching = specific.filter(({ reasonRegex }) => reasonRegex?.matches(reason) === true);
  return matching.length > 0 || fallback === undefined ? matching : [fallback];
}

/** Repair policies, arranged so that those for one condition are found quickly. */
interface PolicyIndex {
  /**
   * The policies with a regular expression, by type and status of the condition (`Ready=False`). An empty list: only
   * the fallback policy applies to this condition.
   */
  readonly byPair: ReadonlyMap<string, readonly RepairPolicy[]>;
  readonly fallback: RepairPolicy | undefined;
}

/** Cached for each list of policies. A list never changes. */
const indexes = new WeakMap<readonly RepairPolicy[], PolicyIndex>();

function indexOf(policies: readonly RepairPolicy[]): PolicyIndex {
  const known = indexes.get(policies);
  if (known !== undefined) return known;
  const byPair = new Map<string, RepairPolicy[]>();
  for (const policy of policies) {
    const pair = pairOf(policy.conditionType, policy.conditionStatus);
    const own = byPair.get(pair) ?? [];
    if (policy.reasonRegex !== undefined) own.push(policy);
    byPair.set(pair, own);
  }
  const index = { byPair, fallback: policies.find(({ reasonRegex }) => reasonRegex === undefined) };
  indexes.set(policies, index);
  return index;
}

function pairOf(type: string, status: string): string {
  return `${type}=${status}`;
}
