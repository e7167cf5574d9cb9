/** `state.daemonset`: what each new node will carry, with the defaults of namespaces, into our picture. */
import { DAEMON_SET } from "../../apis/apps/kinds.ts";
import { LIMIT_RANGE } from "../../apis/core/limit-range.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder } from "./feeder.ts";

/** Feeds DaemonSets to the cluster state. */
export function stateDaemonSet({ cluster }: World): Controller {
  const feed = fed({
    kind: DAEMON_SET,
    put: (daemonSet) => cluster.updateDaemonSet(daemonSet),
    remove: (daemonSet) => cluster.deleteDaemonSet(keyOf(daemonSet)),
  });
  const defaults = fed({
    kind: LIMIT_RANGE,
    put: (limitRange) => cluster.updateLimitRange(limitRange),
    remove: (limitRange) => cluster.deleteLimitRange(keyOf(limitRange)),
  });
  return feeder("state.daemonset", [feed, defaults]);
}
