/** The form of a NodePool in karpenter.sh/v1beta1. It is stored and used in decisions as v1 (hub/conversion.ts). */
import type { Taint } from "../core/node.ts";
import type { Condition, KubeObject, ResourceAmounts } from "../meta.ts";
import type { KubeletConfiguration } from "./kubelet.ts";
import type { Budget, RequirementSpec } from "./nodepool.ts";

/** The reference to a node class. kind and apiVersion have no effect in v1beta1. */
export interface NodeClassReferenceV1Beta1 {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly name: string;
}

/**
 * A NodePool of karpenter.sh/v1beta1. Unlike in v1, `expireAfter` and the kubelet's settings are fields of the
 * NodePool.
 */
export interface NodePoolV1Beta1 extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly metadata?: {
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
      };
      readonly spec: {
        readonly taints?: readonly Taint[];
        readonly startupTaints?: readonly Taint[];
        readonly requirements: readonly RequirementSpec[];
        readonly kubelet?: KubeletConfiguration;
        readonly nodeClassRef: NodeClassReferenceV1Beta1;
        readonly resources?: Readonly<Record<string, never>>;
      };
    };
    readonly disruption?: {
      readonly consolidationPolicy?: "WhenEmpty" | "WhenUnderutilized";
      readonly consolidateAfter?: string;
      readonly expireAfter?: string;
      readonly budgets?: readonly Budget[];
    };
    readonly limits?: ResourceAmounts;
    readonly weight?: number;
  };
  readonly status?: {
    readonly resources?: ResourceAmounts;
    readonly conditions?: readonly Condition[];
  };
}
