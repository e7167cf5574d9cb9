/** Counts claims that Karpenter deletes without a disruption command. */

import { CAPACITY_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { type NodeClaim, terminationMode } from "../../apis/karpenter/nodeclaim.ts";
import { poolLabel } from "../words.ts";
import type { World } from "../world.ts";

/** Values of the label `reason` for claims that Karpenter deletes without a disruption command. */
export type DisruptedReason =
  | "expired"
  | "insufficient_capacity"
  | "nodeclass_not_ready"
  | "launch_timeout"
  | "registration_timeout"
  | "initialization_timeout"
  | "garbage_collected"
  | "unhealthy";

/** Counts a claim that Karpenter deletes without a disruption command, by reason. */
export function countDisrupted(
  world: Pick<World, "metrics">,
  claim: NodeClaim,
  reason: DisruptedReason,
): void {
  world.metrics.count("nodeclaims_disrupted_total", {
    reason,
    nodepool: poolLabel(claim.metadata),
    capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL_KEY] ?? "",
    consolidation_policy: "",
    termination_mode: terminationMode(claim),
  });
}
