/**
 * Nodes that came in the place of others which still drain. What guards pods may keep them there for as long as the
 * grace period lasts; a node taken for empty meanwhile would be missed when they come, and another one made for them.
 * Upstream promises a replacement to its pods for some seconds only. Once the other node is gone, the new one is kept
 * while its pods have seats there (core/state/placements.ts): a Job makes a new pod only after a back-off.
 */
import { PLANNED_PODS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { type NodeView, reschedulablePods } from "../state/node-view.ts";
import type { Placements } from "../state/placements.ts";
import type { Awaited } from "./candidates.ts";
import { recordOf, replacementCommandId } from "./record.ts";

/** No node stands idle for longer than this for the sake of pods that are not let go. */
const MOST_AWAITED_MS = 60 * 60_000;

/** What is known of pods on their way to a claim's node. */
export type AwaitedSeats = Pick<Placements, "awaitedAt" | "hostsBufferPods">;

type Awaiting = (claim: NodeClaim, nowMs: number) => Awaited | undefined;

const known = new WeakMap<readonly NodeView[], Awaiting>();

/**
 * Of these nodes, all of the cluster: whose pods the node of a claim awaits; undefined: nobody's. Only nodes that came
 * up for pods wait for seats to be taken.
 */
export function awaitedPodsOn(nodes: readonly NodeView[], seats?: AwaitedSeats): Awaiting {
  const drained = awaitingDrains(nodes);
  if (seats === undefined) return drained;
  return (claim, nowMs) => {
    const byDrain = drained(claim, nowMs);
    if (byDrain !== undefined) return byDrain;
    const { name, annotations } = claim.metadata;
    if (annotations?.[PLANNED_PODS_ANNOTATION_KEY] === undefined) return undefined;
    return seats.awaitedAt(name, nowMs);
  };
}

function awaitingDrains(nodes: readonly NodeView[]): Awaiting {
  const before = known.get(nodes);
  if (before !== undefined) return before;
  const draining = drainingOf(nodes);
  const awaiting: Awaiting = (claim, nowMs) => {
    if (draining.size === 0) return undefined;
    const nodeName = draining.get(replacementCommandId(claim) ?? "");
    const untilMs = (fromRfc3339(claim.metadata.creationTimestamp) ?? 0) + MOST_AWAITED_MS;
    return nodeName === undefined || untilMs <= nowMs ? undefined : { nodeName, untilMs };
  };
  known.set(nodes, awaiting);
  return awaiting;
}

/** By the id of a command: the name of a node that drains by it and has pods yet. */
function drainingOf(nodes: readonly NodeView[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const node of nodes) {
    const { claim, deleting, name } = node;
    if (!deleting || claim === undefined || reschedulablePods(node).length === 0) continue;
    const record = recordOf(claim);
    if (record !== undefined && !found.has(record.id)) found.set(record.id, name);
  }
  return found;
}
