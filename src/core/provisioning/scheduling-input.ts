/**
 * Everything one planning pass may know. Plain data: equal input, equal plan, in any order of
 * lists.
 */
import type { Namespace, PersistentVolume, PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { Resources } from "../../apis/resources.ts";
import type { CSINode, StorageClass } from "../../apis/storage/kinds.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { NodeView } from "../state/node-view.ts";
import type { DefaultSpread } from "./batch/default-spread.ts";

/** A pool that may be used, with what its class can launch. */
export interface PoolInput {
  readonly pool: Pool;
  readonly instanceTypes: readonly InstanceType[];
  /** Capacity of the pool's nodes and claims (incl. `nodes`), to compare with its limits. */
  readonly usage: Resources;
}

/** What is known of volumes, for zones and attach limits. */
export interface VolumeFacts {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly classes: readonly StorageClass[];
  readonly csiNodes: readonly CSINode[];
  /** Provisioners whose volumes the cloud's machines cannot attach. */
  readonly unsupportedProvisioners?: readonly string[];
}

export interface SchedulingOptions {
  /** `Ignore` drops preferred terms and ScheduleAnyway before trying. */
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  /** Most instance types a new claim may name; upstream 600, cheapest first. */
  readonly maxInstanceTypes: number;
  /** Label keys a claim need not have to satisfy a pod's requirement, beyond Karpenter's own. */
  readonly wellKnownLabels: readonly string[];
  /**
   * When reservations that a pod could use are all promised: `strict` leaves the pod for a later
   * pass, when it is known which of the promises were needed; `fallback` (the default) buys.
   */
  readonly reservedCapacity?: "strict" | "fallback";
}

export interface SchedulingInput {
  readonly nowMs: number;
  /** Pods to place: pending ones, and those of nodes that are leaving. */
  readonly pods: readonly Pod[];
  /**
   * Pods that keep the node which an earlier plan has for them: key of the pod → name of the node, or of its claim.
   * Absent: none.
   */
  readonly sticky?: ReadonlyMap<string, string>;
  /** Ready, dynamic, not deleting. Any order: weight, then name decides. */
  readonly pools: readonly PoolInput[];
  /** The whole cluster; those with `deleting` are no targets, but their pods count for topology. */
  readonly nodes: readonly NodeView[];
  /** One pod per DaemonSet, as it would run: overhead of each new node. */
  readonly daemonPods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly volumes: VolumeFacts;
  /** For pods without a spread of their own, where an operator configured one. */
  readonly defaultSpread?: DefaultSpread;
  readonly options: SchedulingOptions;
}
