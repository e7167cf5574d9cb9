/**
 * Handles a Node that a deleted claim names and that has no provider id. It may belong to the instance of the claim or
 * to a later instance. While pods may run there, the claim waits, and an event says why and until when.
 */
import { isReadyNode, type Node } from "../../apis/core/node.ts";
import { NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { instanceAct } from "../../core/safety/acts.ts";
import type { World } from "../world.ts";
import { tellHeld } from "./ended.ts";
import { reschedulablePodsNow } from "./live-reads.ts";
import { earlierNow } from "./two-clocks.ts";

/**
 * Whether the claim waits for this Node. If so, publishes an event on the claim and the Node, a log line, and the
 * metric of postponed terminations.
 */
export async function waitsForUntold(world: World, claim: NodeClaim, node: Node): Promise<boolean> {
  const until = claim.metadata.annotations?.[NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY];
  const untilMs = fromRfc3339(until) ?? Number.POSITIVE_INFINITY;
  if (earlierNow(world) >= untilMs) return false;
  const { name } = node.metadata;
  if (!isReadyNode(node) && (await reschedulablePodsNow(world, name)).length === 0) return false;
  const latest =
    until === undefined
      ? "No terminationGracePeriod ends the wait"
      : `At the latest until ${until}`;
  const doubt = {
    code: "untoldNode",
    message: `Node ${name} has no provider ID and may belong to this instance. The termination waits until the Node has one, is deleted, or is not Ready and runs no pods. ${latest}. Look at the cloud controller manager.`,
  } as const;
  const act = instanceAct("claimDeleted");
  tellHeld(world, { name: claim.metadata.name, act, doubt }, [claim, node]);
  return true;
}
