/**
 * All facts that one planning pass may use. Plain data: equal input gives an equal plan, whatever the order of the
 * lists.
 */
import type { VerticalPodAutoscaler } from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import type { Namespace } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import type { Resources } from "../../apis/resources.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import type { DeviceFacts } from "../devices/device-facts.ts";
import type { VolumeObjects } from "../scheduling/volumes.ts";
import type { NodeView } from "../state/node-view.ts";
import type { DefaultSpread } from "./batch/default-spread.ts";

/** A pool that may launch nodes, and the instance types of its node class. */
export interface PoolInput {
  readonly pool: Pool;
  readonly instanceTypes: readonly InstanceType[];
  /** Capacity of the pool's nodes and claims, those in `nodes` included. Compared with the pool's limits. */
  readonly usage: Resources;
}

export interface SchedulingOptions {
  /** `Ignore`: drop preferred terms and ScheduleAnyway spreads before planning. */
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  /** Largest number of instance types in a new claim, cheapest first. Upstream: 600. */
  readonly maxInstanceTypes: number;
  /** Label keys, besides Karpenter's own, that a pod may require although the pool does not define them. */
  readonly wellKnownLabels: readonly string[];
  /**
   * What to do if other planned nodes hold all reservations that a pod could use. `strict`: the pod waits for a later
   * pass, which knows the reservations that were not needed. `fallback` (default): use other capacity.
   */
  readonly reservedCapacity?: "strict" | "fallback";
}

export interface SchedulingInput {
  readonly nowMs: number;
  /** Key of a pod: if it has no place, the plan also says why no existing node takes it. Absent: of none. */
  readonly askedPod?: string;
  /** Pods to place: pending pods, and pods of nodes that are being removed. */
  readonly pods: readonly Pod[];
  /** Key of a sticky pod → name of the node or claim that an earlier plan chose for it. Absent: none. */
  readonly sticky?: ReadonlyMap<string, string>;
  /** Ready pools with a dynamic number of nodes that are not being deleted, in any order. */
  readonly pools: readonly PoolInput[];
  /** Why `pools` is empty, for the reason of pods without a place. Absent: as upstream says it. */
  readonly withoutPools?: string;
  /** All nodes of the cluster. Nodes with `deleting` take no pods, but topology counts the pods on them. */
  readonly nodes: readonly NodeView[];
  /** One pod for each DaemonSet: the overhead of new nodes. */
  readonly daemonPods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly volumes: VolumeObjects;
  /** The operator's default spread, for pods without a spread. Absent: none. */
  readonly defaultSpread?: DefaultSpread;
  /**
   * VerticalPodAutoscalers, whose recommendations change the requests of pods that move, because those are created
   * again. Absent: no pod changes.
   */
  readonly autoscalers?: readonly VerticalPodAutoscaler[];
  /** Quota of the cloud's account → units that may still be launched. Absent: not bounded. */
  readonly quotaRoom?: ReadonlyMap<string, number>;
  /** Devices and claims (Dynamic Resource Allocation). Absent: pods with claims are refused. */
  readonly devices?: DeviceFacts | undefined;
  readonly options: SchedulingOptions;
}
