/**
 * `state.node`: updates the cluster state with every Node. Pods may also be placed on Nodes that Karpenter does not
 * own.
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import type { ClusterState } from "../../core/state/cluster.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder, type StateFeed } from "./feeder.ts";
import { repairLines } from "./repair-lines.ts";

/** The controller that updates the cluster state with Nodes. */
export function stateNode(world: World): Controller {
  const { kind, put, remove } = nodeFeed(world.cluster);
  const lines = repairLines(world);
  const feed: StateFeed<Node> = {
    kind,
    put: (node) => {
      put(node);
      lines.put(node);
    },
    remove: (node) => {
      remove(node);
      lines.remove(node);
    },
  };
  return feeder("state.node", [fed(feed)]);
}

/** How all Nodes, whoever owns them, are put into the cluster state. */
export function nodeFeed(cluster: ClusterState): StateFeed<Node> {
  return {
    kind: NODE,
    put: (node) => cluster.updateNode(node),
    remove: (node) => cluster.deleteNode(node.metadata.name),
  };
}
