/**
 * The kind Machine of karpenter.sh/v1alpha5, the predecessor of NodeClaim. upstream: pkg/apis/v1alpha5/machine.go at
 * v0.31
 */
import type { Taint } from "../core/node.ts";
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { KubeletConfiguration } from "./kubelet.ts";
import type { RequirementSpec } from "./nodepool.ts";
import type { ProviderRef } from "./provisioner.ts";

/** A Machine of karpenter.sh/v1alpha5: one requested node. */
export interface Machine extends KubeObject {
  readonly spec: {
    readonly taints?: readonly Taint[];
    readonly startupTaints?: readonly Taint[];
    readonly requirements?: readonly RequirementSpec[];
    readonly resources?: { readonly requests?: ResourceAmounts };
    readonly kubelet?: KubeletConfiguration;
    /** The node template. Absent: the Provisioner has an inline provider. */
    readonly machineTemplateRef?: ProviderRef;
  };
  readonly status?: {
    readonly nodeName?: string;
    readonly providerID?: string;
    /** These two fields are karpenter-ts only. With them drift and emptiness work as for NodeClaims. */
    readonly imageID?: string;
    readonly lastPodEventTime?: string;
    readonly capacity?: ResourceAmounts;
    readonly allocatable?: ResourceAmounts;
    readonly conditions?: readonly Condition[];
  };
}

export const MACHINE: Kind<Machine> = {
  group: "karpenter.sh",
  version: "v1alpha5",
  kind: "Machine",
  plural: "machines",
  namespaced: false,
};
