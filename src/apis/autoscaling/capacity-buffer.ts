/**
 * The CapacityBuffer kind: capacity that is kept free for later pods. It is served as v1beta1 and v1alpha1, with equal
 * fields; v1beta1 is stored. Cluster Autoscaler has the same kind.
 * upstream: pkg/apis/autoscaling/v1beta1/capacitybuffer.go
 */
import type { PodTemplateSpec } from "../apps/kinds.ts";
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";

export interface ScalableRef {
  /** API group of the workload. Absent or empty: `apps`. */
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
}

export interface CapacityBufferSpec {
  readonly provisioningStrategy?: string;
  readonly podTemplateRef?: { readonly name: string };
  readonly scalableRef?: ScalableRef;
  readonly replicas?: number;
  /** Size of the buffer in percent of the replicas of {@link scalableRef}. */
  readonly percentage?: number;
  /** The most resources that all pods of the buffer may request together. */
  readonly limits?: ResourceAmounts;
}

export interface CapacityBuffer extends KubeObject {
  readonly spec: CapacityBufferSpec;
  readonly status?: {
    readonly podTemplateRef?: { readonly name: string };
    readonly replicas?: number;
    readonly podTemplateGeneration?: number;
    readonly provisioningStrategy?: string;
    readonly conditions?: readonly Condition[];
  };
}

/** A PodTemplate object, which a buffer may reference. */
export interface StoredPodTemplate extends KubeObject {
  readonly template: PodTemplateSpec;
}

/** The only strategy that this controller supports: it keeps nodes running for the buffer. */
export const ACTIVE_CAPACITY = "buffer.x-k8s.io/active-capacity";

export const CAPACITY_BUFFER: Kind<CapacityBuffer> = {
  group: "autoscaling.x-k8s.io",
  version: "v1beta1",
  kind: "CapacityBuffer",
  plural: "capacitybuffers",
  namespaced: true,
};

export const POD_TEMPLATE: Kind<StoredPodTemplate> = {
  group: "",
  version: "v1",
  kind: "PodTemplate",
  plural: "podtemplates",
  namespaced: true,
};
