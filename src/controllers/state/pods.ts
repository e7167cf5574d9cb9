/** `state.pod`: updates the cluster state with all pods, in the reduced form of the local copy. */
import { POD, type Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder, type StateFeed } from "./feeder.ts";

/** The controller that updates the cluster state with pods. */
export function statePod({ cluster }: World): Controller {
  return feeder("state.pod", [fed(podFeed(cluster))]);
}

/** How pods, both bound and pending, are put into the cluster state. */
export function podFeed(cluster: ClusterState): StateFeed<Pod> {
  return {
    kind: POD,
    put: (pod) => cluster.updatePod(pod),
    remove: (pod) => cluster.deletePod(keyOf(pod)),
  };
}
