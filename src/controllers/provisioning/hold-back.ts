/**
 * Delays new nodes for pods whose last planned nodes joined the cluster but do not accept them
 * (core/state/refused-nodes.ts). Existing nodes may still take the pods. karpenter-ts only.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { UnschedulablePod, Unstuck } from "../../core/provisioning/result.ts";
import type { World } from "../world.ts";

/** Records which pods lost their planned nodes because these nodes do not accept them. Call it once for each loss. */
export function noteRefusals(world: World, unstuck: readonly Unstuck[] = []): void {
  const { cluster, clock } = world;
  cluster.placements.refusals.refused(refusedPods(world, unstuck), clock.elapsedMs());
}

/** Whether no node is launched for the pod at present. */
export function isHeld({ cluster, clock }: World, pod: Pod): boolean {
  return cluster.placements.refusals.waitMs(pod, clock.elapsedMs()) > 0;
}

/** Those of the pods that have to wait, each with the message until when. */
export function heldIn(world: World, pods: readonly Pod[]): readonly UnschedulablePod[] {
  const held = pods.filter((pod) => isHeld(world, pod));
  return held.map((pod) => ({ pod, message: heldText(world, pod), pools: [] }));
}

/** Until when no node is launched for the pod, and why, as text for a message. Empty: the pod need not wait. */
export function heldText({ cluster, clock }: World, pod: Pod): string {
  const waitMs = cluster.placements.refusals.waitMs(pod, clock.elapsedMs());
  if (waitMs === 0) return "";
  const until = toRfc3339(clock.now() + waitMs);
  return `nodes that were launched for it refused it, so none is launched before ${until}; look at what labels or taints Nodes`;
}

/** Pods whose planned nodes have joined and do not take them because of their labels or taints. */
function refusedPods({ cluster }: World, unstuck: readonly Unstuck[] = []): readonly Pod[] {
  const lost = unstuck.filter(({ reason }) => reason === "taints" || reason === "requirements");
  if (lost.length === 0) return [];
  const views = cluster.nodes().filter(({ node }) => node !== undefined);
  const joined = new Set(views.flatMap(({ name, claim }) => [name, claim?.metadata.name]));
  return lost.filter(({ target }) => joined.has(target)).map(({ pod }) => pod);
}
