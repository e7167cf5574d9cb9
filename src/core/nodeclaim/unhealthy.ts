/**
 * When the older controller (`--legacy-node-repair`) deletes a broken node. Only policies that replace nodes count, and
 * no policy is a fallback. If too many nodes are broken at the same time, none is repaired: the cause is probably the
 * network or the control plane.
 * upstream: pkg/controllers/node/legacyrepair/controller.go
 */
import type { Node } from "../../apis/core/node.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import type { RepairPolicy } from "../cloudprovider/repair-policy.ts";
import { isTooMany } from "../repair/breaker.ts";

/** The unhealthy condition of a node, and when its repair is due. */
export interface UnhealthyCondition {
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly sinceMs: number;
  /** The node may be repaired from this time on. */
  readonly dueMs: number;
}

/** The condition because of which the node is repaired first. Undefined: the node is healthy. */
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

/** The facts about one node that {@link BrokenCount} counts. */
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
 * Counts broken nodes, to decide whether too many are broken. There is a count for each pool, because 10,000 nodes may
 * be checked at once when a network fails.
 */
export class BrokenCount {
  readonly #nodes = new Map<string, CountedNode>();
  /** The counts by pool id. Undefined: the count of all nodes. */
  readonly #tallies = new Map<string | undefined, Tally>();

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

  /** Whether too many nodes of this pool are broken. Undefined: too many of all nodes. */
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
