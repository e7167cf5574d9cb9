/**
 * Buys no node for pods whose last planned nodes joined and refused them, until their wait is over
 * (core/state/refused-nodes.ts). Existing nodes may still take the pods. karpenter-ts only.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { PlannedClaim, SchedulingResult, Unstuck } from "../../core/provisioning/result.ts";
import type { World } from "../world.ts";

/** The plan without new claims whose pods all have to wait. These pods are told until when. */
export function holdBack(world: World, result: SchedulingResult): SchedulingResult {
  const { cluster, clock } = world;
  const refused = refusedPods(world, result.unstuck);
  cluster.placements.refusals.refused(refused, clock.elapsedMs());
  const isHeld = ({ pods }: PlannedClaim) => pods.every((pod) => heldText(world, pod) !== "");
  const held = result.newClaims.filter(isHeld);
  if (held.length === 0) return result;
  const waiting = held.flatMap(({ pods }) =>
    pods.map((pod) => ({ pod, message: heldText(world, pod), pools: [] })),
  );
  return {
    ...result,
    newClaims: result.newClaims.filter((one) => !held.includes(one)),
    unschedulable: [...result.unschedulable, ...waiting],
  };
}

/** Until when and why no node is bought for the pod. Empty: it need not wait. */
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
