/**
 * A filter has two steps: `prepare` once for a pod, then `check` for each node. Names, order and the texts of
 * reasons are those of kube-scheduler's plugins.
 */
import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";

/** Why a node does not fit. `unresolvable`: evicting pods from it would not help. */
export interface Rejection {
  readonly reasons: readonly string[];
  readonly unresolvable: boolean;
}

/** The result of `prepare`. */
export type Prepared =
  /** The filter does not apply to this pod. */
  | { readonly kind: "skip" }
  /** The pod fits on no node, for a reason that does not depend on the nodes. */
  | { readonly kind: "reject"; readonly message: string }
  | {
      readonly kind: "check";
      readonly check: (node: NodeInfo) => Rejection | undefined;
      /** The only nodes that can fit; others are not checked. Absent: all nodes are checked. */
      readonly onlyNodes?: ReadonlySet<string>;
    };

/** One filter plugin. upstream: pkg/scheduler/framework/plugins of Kubernetes. */
export interface Filter {
  readonly name: FilterName;
  prepare(pod: PodInfo, snapshot: Snapshot): Prepared;
}

/** Names of kube-scheduler's plugins. */
export type FilterName =
  | "NodeUnschedulable"
  | "NodeName"
  | "TaintToleration"
  | "NodeAffinity"
  | "NodePorts"
  | "NodeResourcesFit"
  | "VolumeRestrictions"
  | "NodeVolumeLimits"
  | "VolumeBinding"
  | "VolumeZone"
  | "PodTopologySpread"
  | "InterPodAffinity"
  | "DynamicResources";

/** The result of `prepare` if the filter does not apply. */
export const SKIP: Prepared = Object.freeze({ kind: "skip" });

/** A rejection that evicting pods could resolve. */
export function unschedulable(...reasons: readonly string[]): Rejection {
  return { reasons, unresolvable: false };
}

/** A rejection that preemption cannot change. */
export function unresolvable(...reasons: readonly string[]): Rejection {
  return { reasons, unresolvable: true };
}
