/**
 * The broken conditions of a node: its conditions that a repair policy names, and when each may be repaired. Policies
 * with a regular expression are checked first. A condition that none of them matches gets the fallback policy of the
 * set.
 * upstream: pkg/controllers/node/health/policy.go
 */
import type { Node } from "../../apis/core/node.ts";
import type { Condition } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";

/** A broken condition of a node: a condition, and the repair policy for it. */
export interface BrokenCondition {
  readonly policy: RepairPolicy;
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly reason: string;
  readonly sinceMs: number;
  /** The node may be repaired from this time on. */
  readonly dueMs: number;
}

/**
 * All broken conditions of a node, in the order of the Node's conditions, then of policies. `rebootedMs`: when its last
 * reboot ended.
 */
export function brokenConditionsOf(
  node: Node,
  policies: readonly RepairPolicy[],
  rebootedMs?: number,
): readonly BrokenCondition[] {
  const conditions = node.status?.conditions;
  if (conditions === undefined || policies.length === 0) return NONE;
  const sheet = sheetOf(policies);
  let found: BrokenCondition[] | undefined;
  for (const condition of conditions) {
    const specific = sheet.byPair.get(pairOf(condition.type, condition.status));
    const sinceMs = specific === undefined ? undefined : fromRfc3339(condition.lastTransitionTime);
    if (specific === undefined || sinceMs === undefined) continue;
    found ??= [];
    for (const policy of policiesFor(condition, specific, sheet.fallback)) {
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

interface Sheet {
  /**
   * Policies with a regular expression, by condition and status. An empty list: only the fallback applies to this
   * condition.
   */
  readonly byPair: ReadonlyMap<string, readonly RepairPolicy[]>;
  readonly fallback: RepairPolicy | undefined;
}

/** The sheet of each set of policies. Sets never change. */
const sheets = new WeakMap<readonly RepairPolicy[], Sheet>();

function sheetOf(policies: readonly RepairPolicy[]): Sheet {
  const known = sheets.get(policies);
  if (known !== undefined) return known;
  const byPair = new Map<string, RepairPolicy[]>();
  for (const policy of policies) {
    const pair = pairOf(policy.conditionType, policy.conditionStatus);
    const own = byPair.get(pair) ?? [];
    if (policy.reasonRegex !== undefined) own.push(policy);
    byPair.set(pair, own);
  }
  const sheet = { byPair, fallback: policies.find(({ reasonRegex }) => reasonRegex === undefined) };
  sheets.set(policies, sheet);
  return sheet;
}

function pairOf(type: string, status: string): string {
  return `${type}=${status}`;
}
