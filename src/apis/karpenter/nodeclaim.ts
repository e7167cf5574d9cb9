/** The kind NodeClaim of karpenter.sh/v1: one requested node and its status. upstream: pkg/apis/v1/nodeclaim.go */

import { parseDuration } from "../../base/duration.ts";
import type { Taint } from "../core/node.ts";
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import { isTrue } from "./conditions.ts";
import type { NodeClassReference, RequirementSpec } from "./nodepool.ts";

/** A NodeClaim of karpenter.sh/v1: one requested node. upstream: pkg/apis/v1/nodeclaim.go. */
export interface NodeClaim extends KubeObject {
  readonly spec: {
    readonly taints?: readonly Taint[];
    readonly startupTaints?: readonly Taint[];
    readonly requirements: readonly RequirementSpec[];
    readonly resources?: { readonly requests?: ResourceAmounts };
    readonly nodeClassRef: NodeClassReference;
    readonly terminationGracePeriod?: string;
    readonly expireAfter?: string;
  };
  readonly status?: {
    readonly nodeName?: string;
    readonly providerID?: string;
    readonly imageID?: string;
    readonly capacity?: ResourceAmounts;
    readonly allocatable?: ResourceAmounts;
    readonly conditions?: readonly Condition[];
    readonly lastPodEventTime?: string;
  };
}

export const NODE_CLAIM: Kind<NodeClaim> = {
  group: "karpenter.sh",
  version: "v1",
  kind: "NodeClaim",
  plural: "nodeclaims",
  namespaced: false,
};

/** The condition of a claim whose node is being rebooted by node repair. */
export const REBOOTING = "Rebooting";

/** Whether node repair requested a reboot and the node is not back yet. */
export function isRebooting(claim: KubeObject): boolean {
  return isTrue(claim, REBOOTING);
}

/**
 * How the node of a claim is drained: `graceful` without a grace period, `forceful` if the period is zero, otherwise
 * `eventual`.
 */
export function terminationMode(claim: KubeObject): "graceful" | "forceful" | "eventual" {
  const text = (claim as Partial<NodeClaim>).spec?.terminationGracePeriod;
  if (typeof text !== "string") return "graceful";
  return (parseDuration(text) ?? 0) <= 0 ? "forceful" : "eventual";
}
