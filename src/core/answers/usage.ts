/** The usage that counts against a NodePool's limits. */
import { addResources, NO_RESOURCES, type Resources } from "../../apis/resources.ts";
import type { NodeView } from "../state/node-view.ts";

/** Capacity of the pool's nodes and claims that are not leaving; `nodes` counts them. */
export function usageOf(nodes: readonly NodeView[], poolId: string): Resources {
  return nodes
    .filter((node) => node.poolId === poolId && !node.deleting)
    .reduce((sum, { capacity }) => addResources(sum, capacity), NO_RESOURCES);
}
