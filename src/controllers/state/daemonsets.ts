/** `state.daemonset`: feeds DaemonSets, and what admission adds to their pods, to the cluster state. */
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
import { type Feed, fed, feeder } from "./feeder.ts";

/** Feeds DaemonSets to the cluster state. */
export function stateDaemonSet({ cluster, settings }: World): Controller {
  return feeder("state.daemonset", [
    fed(daemonSetFeed(cluster)),
    fed(limitRangeFeed(cluster)),
    fed(runtimeClassFeed(cluster)),
    ...(settings.readsRecommendations === true ? [fed(verticalAutoscalerFeed(cluster))] : []),
  ]);
}

/** Feeds DaemonSets, whose pods will run on new nodes. */
export function daemonSetFeed(cluster: ClusterState): Feed<DaemonSet> {
  return {
    kind: DAEMON_SET,
    put: (daemonSet) => cluster.updateDaemonSet(daemonSet),
    remove: (daemonSet) => cluster.deleteDaemonSet(keyOf(daemonSet)),
  };
}

/** Feeds LimitRanges, which set requests of containers without any. */
export function limitRangeFeed({ admission }: Pick<ClusterState, "admission">): Feed<LimitRange> {
  return {
    kind: LIMIT_RANGE,
    put: (limitRange) => admission.updateLimitRange(limitRange),
    remove: (limitRange) => admission.deleteLimitRange(limitRange),
  };
}

/** Feeds RuntimeClasses, which add overhead, node selectors and tolerations to the pods that name them. */
export function runtimeClassFeed({
  admission,
}: Pick<ClusterState, "admission">): Feed<RuntimeClass> {
  return {
    kind: RUNTIME_CLASS,
    put: (runtimeClass) => admission.updateRuntimeClass(runtimeClass),
    remove: ({ metadata }) => admission.deleteRuntimeClass(metadata.name),
  };
}

/** Updates the recommended requests of pods that will be created again. */
function verticalAutoscalerFeed({
  admission,
}: Pick<ClusterState, "admission">): Feed<VerticalPodAutoscaler> {
  return {
    kind: VERTICAL_POD_AUTOSCALER,
    put: (autoscaler) => admission.updateAutoscaler(autoscaler),
    remove: (autoscaler) => admission.deleteAutoscaler(autoscaler),
  };
}
