/**
 * How many nodes a static pool lacks, or which of them it has too many.
 * upstream: pkg/controllers/static/provisioning/controller.go, static/deprovisioning/controller.go
 */

import { isActive } from "../../apis/core/pod.ts";
import { hasDoNotDisrupt, isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseNillableDuration } from "../../base/duration.ts";
import type { NodeView } from "../state/node-view.ts";
import { evictionCost } from "./candidates.ts";
import { recordOf } from "./record.ts";

export interface StaticCount {
  /** Here to stay. */
  readonly active: readonly NodeView[];
  /** A command replaces them: they count for provisioning, for their replacement does not yet. */
  readonly leavingByCommand: number;
  /** Their deletion has begun; they still take room in `limits.nodes`. */
  readonly deleting: number;
}

export function countStatic(pool: Pool, nodes: readonly NodeView[]): StaticCount {
  const active: NodeView[] = [];
  let leavingByCommand = 0;
  let deleting = 0;
  for (const node of nodes) {
    if (node.poolId !== pool.id || node.claim === undefined) continue;
    const isEnding = node.claim.metadata.deletionTimestamp !== undefined;
    if (isEnding) deleting++;
    else if (recordOf(node.claim) !== undefined) leavingByCommand++;
    else if (node.deleting) deleting++;
    else active.push(node);
  }
  return { active, leavingByCommand, deleting };
}

/** Nodes to add, and whether `limits.nodes` allows fewer than are wanted. */
export function missing(
  pool: Pool,
  { active, leavingByCommand, deleting }: StaticCount,
): { readonly count: number; readonly limited: boolean } {
  const wanted = (pool.replicas ?? 0) - active.length - leavingByCommand;
  const room = roomFor(pool, active.length + leavingByCommand + deleting);
  const count = Math.max(0, Math.min(wanted, room));
  return { count, limited: wanted > 0 && count < wanted };
}

/** How many more nodes than `nodes` the pool's limit allows. */
export function roomFor({ limits }: Pool, nodes: number): number {
  return Math.max(0, (limits["nodes"] ?? Number.POSITIVE_INFINITY) - nodes);
}

/**
 * The nodes to remove: first those without a machine yet, then empty ones, then those without protected
 * pods, by what moving their pods costs for the life they have left; among equals those of the fullest
 * zone, then the youngest name.
 */
export function surplus(pool: Pool, { active }: StaticCount, nowMs: number): readonly NodeView[] {
  let count = active.length - (pool.replicas ?? active.length);
  const left = new Set(active);
  const chosen: NodeView[] = [];
  while (count-- > 0) {
    const zones = new Map<string, number>();
    for (const node of left) zones.set(zoneOf(node), (zones.get(zoneOf(node)) ?? 0) + 1);
    const next = [...left].reduce((best, one) => {
      const order =
        tier(one, nowMs) - tier(best, nowMs) ||
        cost(one, nowMs) - cost(best, nowMs) ||
        (zones.get(zoneOf(best)) ?? 0) - (zones.get(zoneOf(one)) ?? 0);
      return order < 0 || (order === 0 && one.name > best.name) ? one : best;
    });
    left.delete(next);
    chosen.push(next);
  }
  return chosen;
}

function tier(node: NodeView, nowMs: number): number {
  if (node.providerId === undefined) return 0;
  const isProtected = node.pods.some((pod) => isActive(pod) && hasDoNotDisrupt(pod, nowMs));
  if (isProtected) return 3;
  return node.pods.some(isReschedulable) ? 2 : 1;
}

/** What moving the pods costs, times the share of its life that the node has left. */
function cost({ pods, claim }: NodeView, nowMs: number): number {
  const moving = pods.reduce((sum, pod) => sum + evictionCost(pod), 0);
  const lifetime = parseNillableDuration(claim?.spec.expireAfter ?? "Never") ?? "Never";
  const bornMs = fromRfc3339(claim?.metadata.creationTimestamp);
  if (lifetime === "Never" || lifetime === 0 || bornMs === undefined) return moving;
  return moving * Math.min(1, Math.max(0, (lifetime - (nowMs - bornMs)) / lifetime));
}

function zoneOf({ labels }: NodeView): string {
  return labels[TOPOLOGY_ZONE_LABEL_KEY] ?? "";
}
