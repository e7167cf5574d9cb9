/** The checks before a reboot. They run before the node is cordoned, and again right before the cloud is called. */
import type { Node } from "../../apis/core/node.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { instanceAct } from "../../core/safety/acts.ts";
import type { World } from "../world.ts";
import type { Ended } from "./ended.ts";
import { permit } from "./permit.ts";
import { repairReason } from "./repair-proof.ts";

interface Rebooted {
  readonly claim: NodeClaim;
  readonly node: Node | undefined;
  /**
   * Whether the node was already cordoned and drained for the reboot. The drain may have cleared the condition that
   * caused the reboot, so the reboot continues without it, as in upstream.
   */
  readonly isClosed: boolean;
}

/**
 * The claim as read from the API server, or why its instance must not be rebooted. A reboot counts once against the
 * brake.
 */
export function permitReboot(
  world: World,
  { claim, node, isClosed }: Rebooted,
): Promise<NodeClaim | Exclude<Ended, "ended">> {
  const act = instanceAct("reboot");
  const stillHolds = async (live: NodeClaim) => {
    const reason = await repairReason(world, live, node);
    return reason === "broken" || (isClosed && reason === "recovered");
  };
  return permit(world, claim, { act, stillHolds });
}
