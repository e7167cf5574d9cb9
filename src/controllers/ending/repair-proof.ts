/**
 * Whether node repair still has a reason to act on a node. Checked right before its instance is terminated or rebooted.
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { isRepairForbidden } from "../../core/disruption/broken-nodes.ts";
import { brokenConditionsOf } from "../../core/repair/broken-conditions.ts";
import { rebootEndMs } from "../../core/repair/reboots.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import type { World } from "../world.ts";
import { earlierNow } from "./two-clocks.ts";

/**
 * - `forbidden`: a person forbids the repair by an annotation.
 * - `gone`: the node is gone, or another one has its name.
 */
export type RepairReason = "broken" | "recovered" | "forbidden" | "gone";

/**
 * Whether the Node, read from the API server by UID, is still broken, or why node repair must not act on it. `claim`:
 * as read from the API server.
 */
export async function repairReason(
  world: Pick<World, "kube" | "cloud" | "clock" | "clockSkewMs">,
  claim: NodeClaim,
  node: Node | undefined,
): Promise<RepairReason> {
  if (node === undefined) return "gone";
  const live = await getIfThere(world.kube, NODE, { name: node.metadata.name });
  if (live === undefined || live.metadata.uid !== node.metadata.uid) return "gone";
  if (isRepairForbidden(claim, live)) return "forbidden";
  const nowMs = earlierNow(world);
  const conditions = brokenConditionsOf(live, world.cloud.repairPolicies, rebootEndMs(claim));
  return conditions.some(({ dueMs }) => dueMs <= nowMs) ? "broken" : "recovered";
}
