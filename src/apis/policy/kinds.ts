/** The kinds PodDisruptionBudget, PriorityClass and Lease. */
import type { Condition, Kind, KubeObject, LabelSelector } from "../meta.ts";

/**
 * A PodDisruptionBudget, which limits evictions of matching pods. Each eviction reduces `status.disruptionsAllowed`.
 */
export interface PodDisruptionBudget extends KubeObject {
  readonly spec: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: "IfHealthyBudget" | "AlwaysAllow";
  };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly observedGeneration?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
    readonly conditions?: readonly Condition[];
  };
}

/**
 * A PriorityClass. `value`: the priority of its pods. If not all pods can be placed, those with a higher value are
 * planned first.
 */
export interface PriorityClass extends KubeObject {
  readonly value: number;
  readonly globalDefault?: boolean;
  readonly preemptionPolicy?: string;
  readonly description?: string;
}

/**
 * A Lease. `holderIdentity` holds it until `renewTime` plus `leaseDurationSeconds`. Kubelets and leader election use
 * it.
 */
export interface Lease extends KubeObject {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export const POD_DISRUPTION_BUDGET: Kind<PodDisruptionBudget> = {
  group: "policy",
  version: "v1",
  kind: "PodDisruptionBudget",
  plural: "poddisruptionbudgets",
  namespaced: true,
};

export const PRIORITY_CLASS: Kind<PriorityClass> = {
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  namespaced: false,
};

export const LEASE: Kind<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
};
