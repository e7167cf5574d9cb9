/** NodeClaim, karpenter.sh/v1: one machine, asked for and followed. upstream: pkg/apis/v1/nodeclaim.go */

import type { Taint } from "../core/node.ts";
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { NodeClassReference, RequirementSpec } from "./nodepool.ts";

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
