/**
 * What a filter is: asked once for a pod (`prepare`), then for each node (`check`). Names and order
 * are kube-scheduler's plugins; the reasons are its wire strings.
 */
import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";

/** Why a node is out. `unresolvable`: evicting pods from it would not help. */
export interface Rejection {
  readonly reasons: readonly string[];
  readonly unresolvable: boolean;
}

/** What a filter found out about the pod before it looks at nodes. */
export type Prepared =
  /** Nothing to ask of any node. */
  | { readonly kind: "skip" }
  /** The pod fits on no node, for a reason that does not depend on the nodes. */
  | { readonly kind: "reject"; readonly message: string }
  | {
      readonly kind: "check";
      readonly check: (node: NodeInfo) => Rejection | undefined;
      /** Only these nodes come into question; the others are not asked. */
      readonly onlyNodes?: ReadonlySet<string>;
    };

/** One filter plugin. upstream: pkg/scheduler/framework/plugins of Kubernetes. */
export interface Filter {
  readonly name: FilterName;
  prepare(pod: PodInfo, snapshot: Snapshot): Prepared;
}

/** Names as kube-scheduler has them. */
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

/** The filter has nothing to check for this pod. */
export const SKIP: Prepared = Object.freeze({ kind: "skip" });

/** A rejection that evicting pods could mend. */
export function unschedulable(...reasons: readonly string[]): Rejection {
  return { reasons, unresolvable: false };
}

/** A rejection that preemption cannot change. */
export function unresolvable(...reasons: readonly string[]): Rejection {
  return { reasons, unresolvable: true };
}
