/**
 * The kind NodePool of karpenter.sh/v1. The types of its fields are also used for pools of other API versions.
 * upstream: pkg/apis/v1/nodepool.go
 */

import type { Taint } from "../core/node.ts";
import type { Condition, Kind, KubeObject, ResourceAmounts } from "../meta.ts";

/** The operators of requirements. `Gte` and `Lte` do not exist in Kubernetes' own node affinity. */
export type RequirementOperator =
  | "In"
  | "NotIn"
  | "Exists"
  | "DoesNotExist"
  | "Gt"
  | "Lt"
  | "Gte"
  | "Lte";

/** A requirement for one label key. `minValues`: the least number of values that must remain possible. */
export interface RequirementSpec {
  readonly key: string;
  readonly operator: RequirementOperator;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** The reference to a node class in v1. `group` has no version, as in `karpenter.k8s.aws`. */
export interface NodeClassReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

/** The reasons that a budget can name. */
export type DisruptionReason = "Underutilized" | "Empty" | "Drifted" | "Unhealthy";

/** A limit on the nodes of a NodePool that are disrupted at the same time. */
export interface Budget {
  /** A number of nodes (`"5"`), or a percentage of the pool's nodes (`"10%"`, rounded up). */
  readonly nodes: string;
  readonly reasons?: readonly DisruptionReason[];
  /** When the budget becomes active, as a cron expression. Absent: it is always active. Needs `duration`. */
  readonly schedule?: string;
  /** The IANA name of the time zone for {@link schedule}. Absent: UTC. karpenter-ts only. */
  readonly timeZone?: string;
  readonly duration?: string;
}

/** Which nodes consolidation may remove. Balanced compares savings with the cost of disruption. */
export type ConsolidationPolicy = "WhenEmpty" | "WhenEmptyOrUnderutilized" | "Balanced";

/** A NodePool of karpenter.sh/v1. upstream: pkg/apis/v1/nodepool.go. */
export interface NodePool extends KubeObject {
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
        readonly nodeClassRef: NodeClassReference;
        readonly terminationGracePeriod?: string;
        readonly expireAfter?: string;
      };
    };
    readonly disruption?: {
      readonly consolidateAfter?: string;
      readonly consolidationPolicy?: ConsolidationPolicy;
      readonly budgets?: readonly Budget[];
    };
    readonly limits?: ResourceAmounts;
    readonly weight?: number;
    readonly replicas?: number;
  };
  readonly status?: {
    readonly resources?: ResourceAmounts;
    readonly nodes?: number;
    readonly nodeClassObservedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
}

export const NODE_POOL: Kind<NodePool> = {
  group: "karpenter.sh",
  version: "v1",
  kind: "NodePool",
  plural: "nodepools",
  namespaced: false,
};
