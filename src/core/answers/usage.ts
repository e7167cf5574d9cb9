/** The usage that is compared with a NodePool's limits. */
import { addResources, NO_RESOURCES, type Resources } from "../../apis/resources.ts";
import type { NodeView } from "../state/node-view.ts";

/** The capacity of the pool's nodes and claims that are not leaving. The resource `nodes` is their number. */
export function usageOf(nodes: readonly NodeView[], poolId: string): Resources {
  return nodes
    .filter((node) => node.poolId === poolId && !node.deleting)
    .reduce((sum, { capacity }) => addResources(sum, capacity), NO_RESOURCES);
}
