/** The form of a NodeClaim in karpenter.sh/v1beta1. It is stored as v1 (hub/conversion.ts). */
import type { Taint } from "../core/node.ts";
import type { KubeObject, ResourceAmounts } from "../meta.ts";
import type { KubeletConfiguration } from "./kubelet.ts";
import type { NodeClaim } from "./nodeclaim.ts";
import type { RequirementSpec } from "./nodepool.ts";
import type { NodeClassReferenceV1Beta1 } from "./nodepool-v1beta1.ts";

/** A NodeClaim of karpenter.sh/v1beta1: one requested node. Its lifetime is in the NodePool. */
export interface NodeClaimV1Beta1 extends KubeObject {
  readonly spec: {
    readonly taints?: readonly Taint[];
    readonly startupTaints?: readonly Taint[];
    readonly requirements: readonly RequirementSpec[];
    readonly resources?: { readonly requests?: ResourceAmounts };
    readonly kubelet?: KubeletConfiguration;
    readonly nodeClassRef: NodeClassReferenceV1Beta1;
  };
  readonly status?: NodeClaim["status"];
}
