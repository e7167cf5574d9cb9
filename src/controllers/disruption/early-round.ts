/**
 * Wakes the disruption loop as soon as an empty node may go, instead of at its next round: the ten seconds
 * between rounds are there to save work, not to keep nodes. Nodes that become free together are looked at
 * together. How long a node must have been empty, and its second look, are what they are.
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Timer } from "../../base/clock.ts";
import { nativeClaims, pods } from "../mirrors.ts";
import type { World } from "../world.ts";

/** From the first node that may go to the look: claims that were quiet equally long come within moments. */
const GATHER_MS = 1_000;

/** Calls `look` some moments after a claim of an empty node became Consolidatable. Returns "stop". */
export function wakeForEmptyNodes(
  world: Pick<World, "clock" | "mirrors">,
  look: () => void,
): () => void {
  let timer: Timer | undefined;
  const stop = nativeClaims(world, NODE_CLAIM).on((_, claim, before) => {
    if (timer !== undefined || !isFreed(world, claim as NodeClaim, before as NodeClaim | undefined))
      return;
    timer = world.clock.after(GATHER_MS, () => {
      timer = undefined;
      look();
    });
  });
  return () => {
    stop();
    timer?.cancel();
  };
}

/** Only what has just become so: what was there at the start has its round. */
function isFreed(
  world: Pick<World, "mirrors">,
  claim: NodeClaim,
  before: NodeClaim | undefined,
): boolean {
  if (before === undefined || isTrue(before, "Consolidatable")) return false;
  const nodeName = claim.status?.nodeName;
  if (!isTrue(claim, "Consolidatable") || nodeName === undefined) return false;
  return !pods(world).byIndex("node", nodeName).some(isReschedulable);
}
