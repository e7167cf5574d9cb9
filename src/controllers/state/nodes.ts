/** `state.node`: every Node into our picture, also those that are not ours: pods may be placed there. */
import { NODE } from "../../apis/core/node.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder } from "./feeder.ts";

/** Feeds Nodes to the cluster state. */
export function stateNode({ cluster }: World): Controller {
  const feed = fed({
    kind: NODE,
    put: (node) => cluster.updateNode(node),
    remove: (node) => cluster.deleteNode(node.metadata.name),
  });
  return feeder("state.node", [feed]);
}
