/** When a v1 node is quiet: no pod was added or removed for `consolidateAfter`. Only quiet nodes are consolidated. */
import type { Pool } from "../../apis/hub/pool.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";

/**
 * When the node becomes quiet if no more pods are added or removed. Undefined: never, or the node is not initialized.
 * upstream: pkg/controllers/nodeclaim/disruption/consolidation.go
 */
export function quietFromMs(
  claim: NodeClaim,
  { disruption: { consolidateAfter }, replicas }: Pick<Pool, "disruption" | "replicas">,
): number | undefined {
  if (consolidateAfter === "Never" || replicas !== undefined) return undefined;
  const initialized = condition(claim, "Initialized");
  if (initialized?.status !== "True") return undefined;
  const lastMs =
    fromRfc3339(claim.status?.lastPodEventTime) ?? fromRfc3339(initialized.lastTransitionTime) ?? 0;
  return lastMs + consolidateAfter;
}
