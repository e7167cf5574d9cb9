/** `state.daemonset`: what each new node will carry, with the defaults of namespaces, into our picture. */
import { DAEMON_SET, type DaemonSet } from "../../apis/apps/kinds.ts";
import { LIMIT_RANGE, type LimitRange } from "../../apis/core/limit-range.ts";
import { keyOf } from "../../apis/meta.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { type Feed, fed, feeder } from "./feeder.ts";

/** Feeds DaemonSets to the cluster state. */
export function stateDaemonSet({ cluster }: World): Controller {
  return feeder("state.daemonset", [fed(daemonSetFeed(cluster)), fed(limitRangeFeed(cluster))]);
}

/** What each new node will carry. */
export function daemonSetFeed(cluster: ClusterState): Feed<DaemonSet> {
  return {
    kind: DAEMON_SET,
    put: (daemonSet) => cluster.updateDaemonSet(daemonSet),
    remove: (daemonSet) => cluster.deleteDaemonSet(keyOf(daemonSet)),
  };
}

/** What containers without requests get. */
export function limitRangeFeed(cluster: ClusterState): Feed<LimitRange> {
  return {
    kind: LIMIT_RANGE,
    put: (limitRange) => cluster.updateLimitRange(limitRange),
    remove: (limitRange) => cluster.deleteLimitRange(keyOf(limitRange)),
  };
}
