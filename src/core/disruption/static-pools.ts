/**
 * How many nodes a static pool lacks, and which surplus nodes it should remove.
 * upstream: pkg/controllers/static/provisioning/controller.go, static/deprovisioning/controller.go
 */
import { isActive } from "../../apis/core/pod.ts";
import { hasDoNotDisrupt, isReschedulable } from "../../apis/core/pod-predicates.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseNillableDuration } from "../../base/duration.ts";
import { compareText } from "../../base/text-order.ts";
import { within } from "../../base/within.ts";
import type { NodeView } from "../state/node-view.ts";
import { evictionCost } from "./eviction-cost.ts";
import { recordOf } from "./record.ts";

/** The nodes of a static pool. */
export interface StaticCount {
  /** Nodes that are neither replaced by a command nor being deleted. */
  readonly active: readonly NodeView[];
  /** Number of nodes that a command replaces. They count as existing, because their replacements do not count yet. */
  readonly leavingByCommand: number;
  /** Number of nodes that are being deleted. They still count against `limits.nodes`. */
  readonly deleting: number;
}

/** Counts the nodes of a static pool. `nodes`: all nodes of the cluster. */
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

/** How many nodes to create. `limited`: `limits.nodes` allows fewer nodes than are missing. */
export function missing(
  pool: Pool,
  { active, leavingByCommand, deleting }: StaticCount,
): { readonly count: number; readonly limited: boolean } {
  const wanted = (pool.replicas ?? 0) - active.length - leavingByCommand;
  const room = roomFor(pool, active.length + leavingByCommand + deleting);
  const count = Math.max(0, Math.min(wanted, room));
  return { count, limited: wanted > 0 && count < wanted };
}

/** How many nodes `limits.nodes` allows in addition to `nodes`. */
export function roomFor({ limits }: Pool, nodes: number): number {
  return Math.max(0, (limits["nodes"] ?? Number.POSITIVE_INFINITY) - nodes);
}

/**
 * The surplus nodes, which should be removed: first nodes without an instance, then empty nodes, nodes whose pods may
 * all be evicted, other nodes. Within a kind, the lowest eviction cost times remaining lifetime comes first, then the
 * zone with the most nodes, then the last name.
 */
export function surplus(pool: Pool, { active }: StaticCount, nowMs: number): readonly NodeView[] {
  const count = active.length - (pool.replicas ?? active.length);
  if (count <= 0) return [];
  const zones = new Map<string, number>();
  for (const node of active) zones.set(zoneOf(node), (zones.get(zoneOf(node)) ?? 0) + 1);
  const rated = active
    .map((node) => ({ node, tier: tier(node, nowMs), cost: cost(node, nowMs) }))
    .sort((a, b) => a.tier - b.tier || a.cost - b.cost || compareText(a.node.name, b.node.name));
  const chosen: NodeView[] = [];
  let equals: NodeView[] = [];
  for (const [index, { node, ...own }] of rated.entries()) {
    equals.push(node);
    const next = rated[index + 1];
    if (next?.tier === own.tier && next.cost === own.cost) continue;
    for (const one of fromFullestZone(equals, zones, count - chosen.length)) chosen.push(one);
    if (chosen.length === count) break;
    equals = [];
  }
  return chosen;
}

/**
 * Chooses at most `most` of the nodes, one after the other: each from the zone with the most nodes that are left, the
 * last name first. Of equal zones, the node with the last name is chosen. `nodes`: sorted by name. `zones`: the number
 * of nodes in each zone. Each chosen node is subtracted from it.
 */
function fromFullestZone(
  nodes: readonly NodeView[],
  zones: Map<string, number>,
  most: number,
): readonly NodeView[] {
  const byZone = new Map<string, NodeView[]>();
  for (const node of nodes) {
    within(byZone, zoneOf(node), () => []).push(node);
  }
  const size = (zone: string) => zones.get(zone) ?? 0;
  const chosen: NodeView[] = [];
  while (chosen.length < Math.min(most, nodes.length)) {
    const heads = [...byZone].flatMap(([zone, left]) => {
      const node = left.at(-1);
      return node === undefined ? [] : [{ zone, node }];
    });
    heads.sort((a, b) => size(b.zone) - size(a.zone) || compareText(b.node.name, a.node.name));
    const [{ zone, node }] = heads as [(typeof heads)[number]];
    byZone.get(zone)?.pop();
    zones.set(zone, size(zone) - 1);
    chosen.push(node);
  }
  return chosen;
}

function tier(node: NodeView, nowMs: number): number {
  if (node.providerId === undefined) return 0;
  const isProtected = node.pods.some((pod) => isActive(pod) && hasDoNotDisrupt(pod, nowMs));
  if (isProtected) return 3;
  return node.pods.some(isReschedulable) ? 2 : 1;
}

/** The eviction cost of the node's pods, times the share of the node's lifetime that is left. */
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
