/** Counts claims that Karpenter deletes without a disruption command, and the pods on their nodes. */
import { isReschedulable } from "../../apis/core/pod-predicates.ts";
import { CAPACITY_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { type NodeClaim, terminationMode } from "../../apis/karpenter/nodeclaim.ts";
import { pods } from "../mirrors.ts";
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

/** Counts a claim that Karpenter deletes without a disruption command, and its pods that need another node. */
export function countDisrupted(world: World, claim: NodeClaim, reason: DisruptedReason): void {
  const labels = {
    reason,
    nodepool: poolLabel(claim.metadata),
    capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL_KEY] ?? "",
    consolidation_policy: "",
    termination_mode: terminationMode(claim),
  };
  world.metrics.count("nodeclaims_disrupted_total", labels);
  const moving = pods(world)
    .byIndex("node", claim.status?.nodeName ?? "")
    .filter(isReschedulable);
  if (moving.length > 0)
    world.metrics.count("pods_disruption_initiated_total", labels, moving.length);
}
