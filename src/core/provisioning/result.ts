/** The plan for one batch, as plain data. */

import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import type { Resources } from "../../apis/resources.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";

/** A new NodeClaim. */
export interface PlannedClaim {
  readonly pool: Pool;
  /** The pool's requirements, narrowed by the pods. The claim is also limited to the types and their capacity types. */
  readonly requirements: readonly RequirementSpec[];
  /**
   * The instance types that may be launched, by their cheapest available offering under the requirements, then by name.
   */
  readonly instanceTypes: readonly InstanceType[];
  readonly pods: readonly Pod[];
  /** The requests of `pods` and of the node's DaemonSet pods together. */
  readonly requests: Resources;
  /** The cheapest offering of all instance types that satisfies the requirements. */
  readonly cheapest: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
    readonly priceMicroUsd: number;
  };
  readonly minValuesRelaxed: boolean;
  /** How long the node may live, if its pods limit that. Absent: the pool decides. */
  readonly maxRunMs?: number;
  /** DRA drivers whose devices the node will publish and its pods claim. Sorted. Absent: none. */
  readonly deviceDrivers?: readonly string[];
  /** Whether kube-scheduler should fill other nodes first: their pods fit here, while these pods do not fit there. */
  readonly fillsLast?: true;
}

/** Why no node of a pool takes a pod: the number of refused instance types for each reason, and upstream's message. */
export interface PoolRejection {
  readonly poolId: string;
  readonly message: string;
  /** A clearer message of karpenter-ts, if upstream's is vague. */
  readonly why?: string;
  /** Reason → number of the pool's instance types that were refused for it. Each type counts for its first reason. */
  readonly rejected: Readonly<Partial<Record<RejectionReason, number>>>;
  /** The reasons why other required node affinity terms failed. `message`: about the term that came furthest. */
  readonly otherwise?: readonly RejectionReason[];
  /** Whether the pod could use a capacity reservation, but other planned nodes hold all of it. */
  readonly promised?: true;
}

export type RejectionReason =
  | "taints"
  | "requirements"
  | "resources"
  | "offerings"
  | "limits"
  | "hostPorts"
  | "topology"
  | "devices"
  | "volumes"
  | "minValues"
  | "noInstanceTypes";

/** Existing nodes that refuse a pod for the same reason. */
export interface NodesRefusal {
  readonly reason: RejectionReason;
  /** In words: what the nodes lack, or which rule keeps the pod away. */
  readonly says: string;
  /** Names of the nodes, sorted. */
  readonly nodes: readonly string[];
}

export interface UnschedulablePod {
  readonly pod: Pod;
  /** The messages of all pools as one sentence, for the FailedScheduling event. */
  readonly message: string;
  readonly pools: readonly PoolRejection[];
  /** The refusals of existing nodes, the most frequent reason first. Only for the pod that the input asks about. */
  readonly nodes?: readonly NodesRefusal[];
  /** Whether the pod was refused before planning, for example because of an invalid selector. */
  readonly ignored?: true;
  /** Whether the pod waits because other planned nodes hold all its reservations. A later pass places it. */
  readonly deferred?: true;
  /** False: its StatefulSet creates it later. Its `pools` are those of the pod that it waits for. */
  readonly isCreated?: false;
}

/** A sticky pod (it keeps the node that an earlier plan chose for it) that lost this node. */
export interface Unstuck {
  readonly pod: Pod;
  /** The name of the planned node, or of its claim. */
  readonly target: string;
  /** Why. `gone`: the node is gone or going. `priority`: pods of higher priority need its room. */
  readonly reason: RejectionReason | "gone" | "priority";
}

/** An existing node or in-flight NodeClaim, and the pods that a plan places there. */
export interface PodsOnNode {
  readonly nodeName: string;
  readonly pods: readonly Pod[];
}

export interface SchedulingResult {
  readonly newClaims: readonly PlannedClaim[];
  /** Existing nodes and in-flight NodeClaims that get pods, sorted by node name. */
  readonly existing: readonly PodsOnNode[];
  readonly unschedulable: readonly UnschedulablePod[];
  /** How many instance types each pool's limits exclude, for a debug log line. */
  readonly excludedByLimits: readonly {
    readonly poolId: string;
    readonly excluded: number;
    readonly total: number;
  }[];
  /** How much less the nodes would cost without the limits of these pools. Absent: no less, or it was not computed. */
  readonly limitCost?: { readonly poolIds: readonly string[]; readonly microUsdPerHour: number };
  /** Ids of pools whose own requirements leave no instance type that can be launched. Absent: none. */
  readonly withoutTypes?: readonly string[];
  /** Ids of pools whose instance types have too few values for the pool's own minValues. Absent: none. */
  readonly withTooFewTypes?: readonly string[];
  /** Sticky pods that lost their planned node. Absent: every sticky pod kept its node. */
  readonly unstuck?: readonly Unstuck[];
}
