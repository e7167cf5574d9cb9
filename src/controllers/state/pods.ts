/** `state.pod`: pods bound and unbound into our picture, as the mirror projects them. */
import { POD } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder } from "./feeder.ts";

/** Feeds pods to the cluster state. */
export function statePod({ cluster }: World): Controller {
  const feed = fed({
    kind: POD,
    put: (pod) => cluster.updatePod(pod),
    remove: (pod) => cluster.deletePod(keyOf(pod)),
  });
  return feeder("state.pod", [feed]);
}
