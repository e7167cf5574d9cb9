/** `state.daemonset`: what each new node will carry, into our picture. */
import { DAEMON_SET } from "../../apis/apps/kinds.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Controller } from "../../kube/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder } from "./feeder.ts";

export function stateDaemonSet({ cluster }: World): Controller {
  const feed = fed({
    kind: DAEMON_SET,
    put: (daemonSet) => cluster.updateDaemonSet(daemonSet),
    remove: (daemonSet) => cluster.deleteDaemonSet(keyOf(daemonSet)),
  });
  return feeder("state.daemonset", [feed]);
}
