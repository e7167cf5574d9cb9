/** All facts that one planning pass may use. The order of the lists has no effect on the plan. */
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
  /** The capacity of the pool's nodes and claims, including those in `nodes`. It is compared with the pool's limits. */
  readonly usage: Resources;
}

export interface SchedulingOptions {
  /** `Ignore`: drop preferred terms and ScheduleAnyway spreads before planning. */
  readonly preferencePolicy: "Respect" | "Ignore";
  readonly minValuesPolicy: "Strict" | "BestEffort";
  /** The most instance types that a new claim may name, the cheapest first. Upstream: 600. */
  readonly maxInstanceTypes: number;
  /** Label keys that a pod may require although its pool does not define them, besides Karpenter's own. */
  readonly wellKnownLabels: readonly string[];
  /**
   * What happens if other planned nodes hold all reservations that a pod could use. `strict`: the pod waits for a later
   * pass. `fallback` (default): the pod uses other capacity.
   */
  readonly reservedCapacity?: "strict" | "fallback";
}

export interface SchedulingInput {
  readonly nowMs: number;
  /** The key of a pod for which the plan says why each existing node refuses it, if it has no place. Absent: none. */
  readonly askedPod?: string;
  /** Pods to place: pending pods, and pods of nodes that are being removed. */
  readonly pods: readonly Pod[];
  /** Sticky pods: key of the pod → name of the node or claim that an earlier plan chose for it. Absent: none. */
  readonly sticky?: ReadonlyMap<string, string>;
  /** Pools that are ready, not static and not being deleted, in any order. */
  readonly pools: readonly PoolInput[];
  /** The reason to report for pods without a place if `pools` is empty. Absent: upstream's sentence is reported. */
  readonly withoutPools?: string;
  /** All nodes of the cluster. Nodes with `deleting` take no pods, but topology rules count the pods on them. */
  readonly nodes: readonly NodeView[];
  /** One pod for each DaemonSet. They are the daemon overhead of new nodes. */
  readonly daemonPods: readonly Pod[];
  readonly namespaces: readonly Namespace[];
  readonly volumes: VolumeObjects;
  /** The operator's default spread, for pods without a spread. Absent: none. */
  readonly defaultSpread?: DefaultSpread;
  /**
   * VerticalPodAutoscalers: a pod that moves is created again with recommended requests. Absent: requests do not
   * change.
   */
  readonly autoscalers?: readonly VerticalPodAutoscaler[];
  /** Quotas of the cloud account: name → units that may still be launched. Absent: no quotas are known. */
  readonly quotaRoom?: ReadonlyMap<string, number>;
  /** Devices and resource claims (Dynamic Resource Allocation). Absent: pods with resource claims are refused. */
  readonly devices?: DeviceFacts | undefined;
  readonly options: SchedulingOptions;
}
