/** `state.pod`: feeds all pods to the cluster state, as the mirror projects them. */
import { POD, type Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { type Feed, fed, feeder } from "./feeder.ts";

/** Feeds pods to the cluster state. */
export function statePod({ cluster }: World): Controller {
  return feeder("state.pod", [fed(podFeed(cluster))]);
}

/** Feeds pods, both bound and pending. */
export function podFeed(cluster: ClusterState): Feed<Pod> {
  return {
    kind: POD,
    put: (pod) => cluster.updatePod(pod),
    remove: (pod) => cluster.deletePod(keyOf(pod)),
  };
}
