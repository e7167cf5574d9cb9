/**
 * Finds what a node without pods waits for, so that it does not count as empty. A replacement waits while a command
 * still drains the old node, which a PodDisruptionBudget may delay for hours. After that, it waits while pods have
 * seats on it (core/state/placements.ts). Otherwise replacements would be removed and launched again. karpenter-ts
 * only; upstream protects a replacement only for some seconds.
 */
import { PLANNED_PODS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { within } from "../../base/within.ts";
import { type NodeView, reschedulablePods } from "../state/node-view.ts";
import { MOST_AWAITED_MS, type Placements } from "../state/placements.ts";
import type { Awaiting } from "./candidates.ts";
import { recordOf, replacementCommandId } from "./record.ts";

/** Tells which pods have a seat on a node but do not run there yet. */
export type AwaitedSeats = Pick<Placements, "awaitedAt" | "hostsBufferPods">;

const known = new WeakMap<readonly NodeView[], ReadonlyMap<string, string>>();

/** Finds what the node of a claim waits for. `seats` count only on nodes that were launched for pods. */
export function awaitedPodsOn(nodes: readonly NodeView[], seats?: AwaitedSeats): Awaiting {
  const drained = awaitedFromDrains(nodes);
  if (seats === undefined) return drained;
  return (claim, nowMs) => {
    const byDrain = drained(claim, nowMs);
    if (byDrain !== undefined) return byDrain;
    const { name, annotations } = claim.metadata;
    if (annotations?.[PLANNED_PODS_ANNOTATION_KEY] === undefined) return undefined;
    return seats.awaitedAt(name, nowMs);
  };
}

function awaitedFromDrains(nodes: readonly NodeView[]): Awaiting {
  const draining = within(known, nodes, () => drainingByCommand(nodes));
  return (claim, nowMs) => {
    const nodeName = draining.get(replacementCommandId(claim) ?? "");
    if (nodeName === undefined) return undefined;
    const untilMs = (fromRfc3339(claim.metadata.creationTimestamp) ?? 0) + MOST_AWAITED_MS;
    return untilMs <= nowMs ? undefined : { nodeName, untilMs };
  };
}

/** For each command id: the name of a node that the command drains and that still has pods. */
function drainingByCommand(nodes: readonly NodeView[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const node of nodes) {
    const { claim, deleting, name } = node;
    if (!deleting || claim === undefined || reschedulablePods(node).length === 0) continue;
    const record = recordOf(claim);
    if (record !== undefined && !found.has(record.id)) found.set(record.id, name);
  }
  return found;
}
