/**
 * When a node that reports itself broken is given up, and when repair must hold back because too many
 * are broken at once: then it is rather the network, or the control plane, than the nodes.
 * upstream: pkg/controllers/node/health/controller.go
 */
import type { Node } from "../../apis/core/node.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/cloud-provider.ts";

/** Share of a pool (or, for claims without one, of the cluster) that may be broken; rounded up. */
const MOST_BROKEN_PERCENT = 20;

export interface Ailment {
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly sinceMs: number;
  /** From here on the node may be repaired. */
  readonly dueMs: number;
}

/** The condition by which the node is given up first; undefined: nothing ails it. */
export function ailment(node: Node, policies: readonly RepairPolicy[]): Ailment | undefined {
  let first: Ailment | undefined;
  for (const { conditionType, conditionStatus, tolerationMs } of policies) {
    const found = node.status?.conditions?.find(({ type }) => type === conditionType);
    if (found === undefined || found.status !== conditionStatus) continue;
    const sinceMs = fromRfc3339(found.lastTransitionTime);
    if (sinceMs === undefined) continue;
    const dueMs = sinceMs + tolerationMs;
    if (first === undefined || dueMs < first.dueMs)
      first = { conditionType, conditionStatus, sinceMs, dueMs };
  }
  return first;
}

/** Whether more of these nodes are broken, for however short a time, than repair may trust. */
export function tooManyBroken(nodes: readonly Node[], policies: readonly RepairPolicy[]): boolean {
  const broken = nodes.filter((node) => ailment(node, policies) !== undefined).length;
  return broken > Math.ceil((nodes.length * MOST_BROKEN_PERCENT) / 100);
}
