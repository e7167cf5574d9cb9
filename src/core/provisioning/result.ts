/**
 * What a planning pass decided, and why not otherwise. JSON-printable data: CLI, journal and tests
 * show it as it is.
 */

import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { RequirementSpec } from "../../apis/karpenter/nodepool.ts";
import type { Resources } from "../../apis/resources.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";

/** A machine to ask for. */
export interface PlannedClaim {
  readonly pool: Pool;
  /** Narrowed by the pods placed; instance types and capacity types are separate. */
  readonly requirements: readonly RequirementSpec[];
  /** Candidates, cheapest first (by their cheapest available compatible offering), then by name. */
  readonly instanceTypes: readonly InstanceType[];
  readonly pods: readonly Pod[];
  /** Pods and daemons, incl. `pods`. */
  readonly requests: Resources;
  /** Cheapest offering among the candidates that satisfies the requirements. */
  readonly cheapest: {
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: string;
    readonly priceMicroUsd: number;
  };
  readonly minValuesRelaxed: boolean;
  /** Pods planned for other new nodes may take the room of its pods, which cannot go there: other nodes fill up first. */
  readonly fillsLast?: true;
}

/** Why one pool could not take a pod: what fell how often, and the text upstream would say. */
export interface PoolRejection {
  readonly poolId: string;
  readonly message: string;
  /** The same in our words, where upstream's say little. */
  readonly why?: string;
  /** Reason → number of the pool's instance types that fell by it, each by its first. */
  readonly rejected: Readonly<Partial<Record<RejectionReason, number>>>;
  /** What else other required terms of the pod fell by; what is told is of the one that came furthest. */
  readonly otherwise?: readonly RejectionReason[];
  /** By one of its ways only reservations would do, and other pods of the plan have them. */
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
  | "volumes"
  | "minValues"
  | "noInstanceTypes";

export interface UnschedulablePod {
  readonly pod: Pod;
  /** One sentence, joined from the pools: goes into the FailedScheduling event. */
  readonly message: string;
  readonly pools: readonly PoolRejection[];
  /** Refused before planning (bad selector, broken volume, …): no pool was asked. */
  readonly ignored?: true;
  /** Waits for reservations that other planned nodes hold: a later pass will tell. No failure. */
  readonly deferred?: true;
}

/** A pod that does not keep the node that an earlier plan had for it; it was planned like any other. */
export interface Unstuck {
  readonly pod: Pod;
  /** Name of the node, or of its claim. */
  readonly target: string;
  /** `gone`: the node is gone or leaves. `priority`: more important pods need its room. */
  readonly reason: RejectionReason | "gone" | "priority";
}

export interface SchedulingResult {
  readonly newClaims: readonly PlannedClaim[];
  /** Nodes (or claims in flight) that will take pods, by node name. */
  readonly existing: readonly { readonly nodeName: string; readonly pods: readonly Pod[] }[];
  readonly unschedulable: readonly UnschedulablePod[];
  /** How many instance types each pool's limits excluded, for the debug line. */
  readonly excludedByLimits: readonly {
    readonly poolId: string;
    readonly excluded: number;
    readonly total: number;
  }[];
  /** Without the limits of these pools the same pods would cost so much less; absent: no less, or it is not known. */
  readonly limitCost?: { readonly poolIds: readonly string[]; readonly microUsdPerHour: number };
  /** Ids of pools whose own requirements leave no instance type that is to be had; absent: none. */
  readonly withoutTypes?: readonly string[];
  /** Ids of pools whose types, all together, have too few values for the pool's own minValues; absent: none. */
  readonly withTooFewTypes?: readonly string[];
  /** Absent: every sticky pod kept its node. */
  readonly unstuck?: readonly Unstuck[];
}
