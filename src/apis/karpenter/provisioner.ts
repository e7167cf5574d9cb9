/**
 * The kind Provisioner of karpenter.sh/v1alpha5, the predecessor of NodePool. upstream:
 * pkg/apis/v1alpha5/provisioner.go at v0.31
 */
import type { Taint } from "../core/node.ts";
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";
import type { KubeletConfiguration } from "./kubelet.ts";
import type { RequirementSpec } from "./nodepool.ts";

/** The reference to an AWSNodeTemplate. kind and apiVersion have no effect. */
export interface ProviderRef {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name: string;
}

/** A Provisioner of karpenter.sh/v1alpha5. */
export interface Provisioner extends KubeObject {
  readonly spec: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly taints?: readonly Taint[];
    readonly startupTaints?: readonly Taint[];
    readonly requirements?: readonly RequirementSpec[];
    readonly kubeletConfiguration?: KubeletConfiguration;
    /** The AWS settings in the older, inline form. Either this or providerRef must be set. */
    readonly provider?: Readonly<Record<string, unknown>>;
    readonly providerRef?: ProviderRef;
    readonly ttlSecondsAfterEmpty?: number;
    readonly ttlSecondsUntilExpired?: number;
    readonly limits?: { readonly resources?: ResourceAmounts };
    readonly weight?: number;
    readonly consolidation?: { readonly enabled?: boolean };
  };
  readonly status?: {
    readonly resources?: ResourceAmounts;
    readonly lastScaleTime?: string;
    readonly conditions?: readonly Condition[];
  };
}

export const PROVISIONER: Kind<Provisioner> = {
  group: "karpenter.sh",
  version: "v1alpha5",
  kind: "Provisioner",
  plural: "provisioners",
  namespaced: false,
};
