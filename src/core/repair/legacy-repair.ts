/**
 * The older node repair (`--legacy-node-repair`): when a node is broken, and when so many nodes are broken that none is
 * deleted. Only policies with the action ReplaceNode count here. A condition counts only if a policy matches it; there
 * is no fallback policy as in broken-conditions.ts.
 * upstream: pkg/controllers/node/legacyrepair/controller.go
 */
import type { Node } from "../../apis/core/node.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import { isTooMany } from "./breaker.ts";

/** The unhealthy condition of a node, and when its repair is due. */
export interface UnhealthyCondition {
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly sinceMs: number;
  /** The node may be repaired from this time on. */
  readonly dueMs: number;
}

/**
 * The condition of the node whose repair is due first, by the policies that replace nodes. Undefined: none of them
 * matches a condition of the node that has a readable time.
 */
export function unhealthyCondition(
  node: Node,
  policies: readonly RepairPolicy[],
): UnhealthyCondition | undefined {
  let first: UnhealthyCondition | undefined;
  for (const { conditionType, conditionStatus, tolerationMs, reasonRegex, action } of policies) {
    if (action !== "ReplaceNode") continue;
    const found = node.status?.conditions?.find(({ type }) => type === conditionType);
    if (found === undefined || found.status !== conditionStatus) continue;
    if (reasonRegex?.matches(found.reason ?? "") === false) continue;
    const sinceMs = fromRfc3339(found.lastTransitionTime);
    if (sinceMs === undefined) continue;
    const dueMs = sinceMs + tolerationMs;
    if (first === undefined || dueMs < first.dueMs)
      first = { conditionType, conditionStatus, sinceMs, dueMs };
  }
  return first;
}

/** What {@link BrokenCount} knows about one node. */
interface CountedNode {
  /** The id of the node's pool. Undefined: the node has no pool. */
  readonly poolId: string | undefined;
  readonly isBroken: boolean;
}

interface Tally {
  nodes: number;
  broken: number;
}

/**
 * Counts nodes and broken nodes, in the whole cluster and in each NodePool. The counts are updated with each change of
 * a node. Counting all nodes for each check would be slow: if a network fails, 10,000 nodes may be checked at once.
 */
export class BrokenCount {
  readonly #nodes = new Map<string, CountedNode>();
  /** The counts by pool id. Undefined: the count of all nodes. */
  readonly #tallies = new Map<string | undefined, Tally>();

  /** Records the node of this name, or what has changed about it. */
  put(name: string, node: CountedNode): void {
    const before = this.#nodes.get(name);
    if (before?.poolId === node.poolId && before?.isBroken === node.isBroken) return;
    this.remove(name);
    this.#nodes.set(name, node);
    this.#count(node, 1);
  }

  remove(name: string): void {
    const before = this.#nodes.get(name);
    if (before === undefined) return;
    this.#nodes.delete(name);
    this.#count(before, -1);
  }

  /** Whether too many nodes of this NodePool are broken. With `poolId` undefined: of the whole cluster. */
  tooMany(poolId: string | undefined): boolean {
    const { nodes, broken } = this.#tallies.get(poolId) ?? { nodes: 0, broken: 0 };
    return isTooMany(broken, nodes);
  }

  #count({ poolId, isBroken }: CountedNode, by: 1 | -1): void {
    for (const id of poolId === undefined ? [undefined] : [poolId, undefined]) {
      const tally = this.#tallies.get(id) ?? { nodes: 0, broken: 0 };
      tally.nodes += by;
      if (isBroken) tally.broken += by;
      if (tally.nodes === 0) this.#tallies.delete(id);
      else this.#tallies.set(id, tally);
    }
  }
}
