/**
 * Starts a round of the disruption loop as soon as an empty node may be removed. Otherwise the node would wait up to
 * ten seconds for the next round. `consolidateAfter` and the wait for validation still apply.
 */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { Timer } from "../../base/clock.ts";
import { nativeClaims, pods } from "../mirrors.ts";
import type { World } from "../world.ts";

/** Time from the first empty node to the early round. Nodes that become empty within it are removed together. */
const GATHER_MS = 1_000;

/**
 * Calls `wake` shortly after the claim of an empty node becomes Consolidatable. Returns a function that stops the
 * watch.
 */
export function wakeForEmptyNodes(
  world: Pick<World, "clock" | "mirrors">,
  wake: () => void,
): () => void {
  let timer: Timer | undefined;
  const stop = nativeClaims(world, NODE_CLAIM).on((_, claim, before) => {
    if (timer !== undefined || !isFreed(world, claim as NodeClaim, before as NodeClaim | undefined))
      return;
    timer = world.clock.after(GATHER_MS, () => {
      timer = undefined;
      wake();
    });
  });
  return () => {
    stop();
    timer?.cancel();
  };
}

/**
 * Whether the claim has just become Consolidatable and its node is empty. A claim that is seen for the first time does
 * not count, because the first round checks it anyway.
 */
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
