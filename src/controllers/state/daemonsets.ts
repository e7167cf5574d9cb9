/** `state.daemonset`: updates the cluster state with DaemonSets, and with what admission adds to their pods. */
import { DAEMON_SET, type DaemonSet } from "../../apis/apps/kinds.ts";
import {
  VERTICAL_POD_AUTOSCALER,
  type VerticalPodAutoscaler,
} from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import { LIMIT_RANGE, type LimitRange } from "../../apis/core/limit-range.ts";
import { keyOf } from "../../apis/meta.ts";
import { RUNTIME_CLASS, type RuntimeClass } from "../../apis/node/runtime-class.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder, type StateFeed } from "./feeder.ts";

/** The controller that updates the cluster state with DaemonSets. */
export function stateDaemonSet({ cluster, settings }: World): Controller {
  return feeder("state.daemonset", [
    fed(daemonSetFeed(cluster)),
    fed(limitRangeFeed(cluster)),
    fed(runtimeClassFeed(cluster)),
    ...(settings.readsRecommendations === true ? [fed(verticalAutoscalerFeed(cluster))] : []),
  ]);
}

/** How DaemonSets, whose pods will run on new nodes, are put into the cluster state. */
export function daemonSetFeed(cluster: ClusterState): StateFeed<DaemonSet> {
  return {
    kind: DAEMON_SET,
    put: (daemonSet) => cluster.updateDaemonSet(daemonSet),
    remove: (daemonSet) => cluster.deleteDaemonSet(keyOf(daemonSet)),
  };
}

/** How LimitRanges are put into the cluster state. They set requests of containers that have none. */
export function limitRangeFeed({
  admission,
}: Pick<ClusterState, "admission">): StateFeed<LimitRange> {
  return {
    kind: LIMIT_RANGE,
    put: (limitRange) => admission.updateLimitRange(limitRange),
    remove: (limitRange) => admission.deleteLimitRange(limitRange),
  };
}

/**
 * How RuntimeClasses are put into the cluster state. They add overhead, node selectors and tolerations to pods that
 * reference them.
 */
export function runtimeClassFeed({
  admission,
}: Pick<ClusterState, "admission">): StateFeed<RuntimeClass> {
  return {
    kind: RUNTIME_CLASS,
    put: (runtimeClass) => admission.updateRuntimeClass(runtimeClass),
    remove: ({ metadata }) => admission.deleteRuntimeClass(metadata.name),
  };
}

/** How the recommended requests of pods that will be created again are put into the cluster state. */
function verticalAutoscalerFeed({
  admission,
}: Pick<ClusterState, "admission">): StateFeed<VerticalPodAutoscaler> {
  return {
    kind: VERTICAL_POD_AUTOSCALER,
    put: (autoscaler) => admission.updateAutoscaler(autoscaler),
    remove: (autoscaler) => admission.deleteAutoscaler(autoscaler),
  };
}
