/** The plan for one batch. All of it can be printed as JSON, so CLI, journal and tests show it as it is. */

import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import type { Resources } from "../../apis/resources.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";

/** A new NodeClaim. */
export interface PlannedClaim {
  readonly pool: Pool;
  /** The pool's requirements, narrowed by the pods. Instance types and capacity types are in other fields. */
  readonly requirements: readonly RequirementSpec[];
  /**
   * Instance types that may be launched: cheapest first, by the cheapest available offering that satisfies the
   * requirements; then by name.
   */
  readonly instanceTypes: readonly InstanceType[];
  readonly pods: readonly Pod[];
  /** Requests of `pods` and of the daemons. */
  readonly requests: Resources;
  /** The cheapest offering of all instance types that satisfies the requirements. */
  readonly cheapest: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
    readonly priceMicroUsd: number;
  };
  readonly minValuesRelaxed: boolean;
  /** How long the node may live, as its pods ask. Absent: as its pool says. */
  readonly maxRunMs?: number;
  /** Drivers whose devices the node will publish, and that its pods claim; sorted. Absent: none. */
  readonly deviceDrivers?: readonly string[];
  /**
   * Pods planned for other new nodes fit here, too, but not the other way round. So kube-scheduler should fill the
   * other nodes first.
   */
  readonly fillsLast?: true;
}

/** Why a pool did not take a pod: number of refused instance types for each reason, and upstream's message. */
export interface PoolRejection {
  readonly poolId: string;
  readonly message: string;
  /** The message in our own words, if upstream's is vague. */
  readonly why?: string;
  /** Reason → number of the pool's instance types that it refused. Each type counts for its first reason only. */
  readonly rejected: Readonly<Partial<Record<RejectionReason, number>>>;
  /** Reasons that refused other required terms of the pod. The message is about the term that passed most stages. */
  readonly otherwise?: readonly RejectionReason[];
  /** Set if at least one way to place the pod needs reservations that other planned nodes hold. */
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

/** Existing nodes that do not take a pod, all for the same reason. */
export interface NodesRefusal {
  readonly reason: RejectionReason;
  /** In words: what the nodes lack, or what keeps the pod away. */
  readonly says: string;
  /** Names, sorted. */
  readonly nodes: readonly string[];
}

export interface UnschedulablePod {
  readonly pod: Pod;
  /** The messages of all pools as one sentence, for the FailedScheduling event. */
  readonly message: string;
  readonly pools: readonly PoolRejection[];
  /** Only for the pod that the input asks about. The nodes of the most frequent reason come first. */
  readonly nodes?: readonly NodesRefusal[];
  /** The pod was refused before planning, for example because of an invalid selector. No pool was asked. */
  readonly ignored?: true;
  /** The pod waits for reservations that other planned nodes hold. This is no failure: a later pass decides. */
  readonly deferred?: true;
}

/** A sticky pod that did not keep its planned node. It was planned like any other pod. */
export interface Unstuck {
  readonly pod: Pod;
  /** Name of the node or of its claim. */
  readonly target: string;
  /** `gone`: the node is gone or is being removed. `priority`: pods of higher priority need its room. */
  readonly reason: RejectionReason | "gone" | "priority";
}

export interface SchedulingResult {
  readonly newClaims: readonly PlannedClaim[];
  /** Existing nodes, and NodeClaims in flight, that will take pods. By node name. */
  readonly existing: readonly { readonly nodeName: string; readonly pods: readonly Pod[] }[];
  readonly unschedulable: readonly UnschedulablePod[];
  /** Number of instance types that each pool's limits exclude, for a debug log line. */
  readonly excludedByLimits: readonly {
    readonly poolId: string;
    readonly excluded: number;
    readonly total: number;
  }[];
  /**
   * The pods would cost this much less without the limits of these pools. Absent: nothing is saved, or it was not
   * computed.
   */
  readonly limitCost?: { readonly poolIds: readonly string[]; readonly microUsdPerHour: number };
  /** Ids of pools whose own requirements leave no instance type that can be launched. Absent: none. */
  readonly withoutTypes?: readonly string[];
  /** Ids of pools whose instance types have too few values for the pool's own minValues. Absent: none. */
  readonly withTooFewTypes?: readonly string[];
  /** Absent: every sticky pod kept its node. */
  readonly unstuck?: readonly Unstuck[];
}
