/**
 * The capacity and number of the nodes and claims of each pool, which are compared with the limits of the pool. Nodes
 * that are being deleted do not count. When a node changes, its old capacity is subtracted from the sum and its new
 * capacity is added. So the time to read a sum depends on the number of changes, not on the size of the cluster.
 */
import { poolIdOfLabels } from "../../apis/hub/claim.ts";
import { addResources, NO_RESOURCES, type Resources } from "../../apis/resources.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { within } from "../../base/within.ts";
import type { NodeView } from "./node-view.ts";

/** Number of keys in one step. Processing a key takes a microsecond if its view is already made. */
const KEYS_PER_STEP = 1_024;

/** Returns the current view for a key. */
type ViewOf = (key: string) => NodeView | undefined;

/** The capacity that the node with this key has added to the sum of its pool. */
interface Share {
  readonly poolId: string;
  readonly capacity: Resources;
}

/** The usage of all pools. */
export class PoolUsage {
  readonly #shares = new Map<string, Share>();
  readonly #pools = new Map<string, PoolSum>();
  readonly #changed = new Set<string>();

  /** Records that the view for the key may have changed. */
  touch(key: string): void {
    this.#changed.add(key);
  }

  /** Adds the changes that are recorded so far, in steps. More changes may be recorded between the steps. */
  *catchUp(viewOf: ViewOf): Steps<void> {
    yield* eachInSteps([...this.#changed], KEYS_PER_STEP, (key) => this.#takeIn(key, viewOf));
  }

  /** The usage of the pool with this id. Later changes do not change the returned object. */
  of(poolId: string, viewOf: ViewOf): Resources {
    for (const key of this.#changed) this.#takeIn(key, viewOf);
    return this.#pools.get(poolId)?.amounts() ?? NO_RESOURCES;
  }

  #takeIn(key: string, viewOf: ViewOf): void {
    this.#changed.delete(key);
    const before = this.#shares.get(key);
    const now = shareOf(viewOf(key));
    if (before?.poolId === now?.poolId && before?.capacity === now?.capacity) return;
    if (before !== undefined && this.#pools.get(before.poolId)?.remove(before.capacity) === 0)
      this.#pools.delete(before.poolId);
    if (now === undefined) {
      this.#shares.delete(key);
      return;
    }
    this.#shares.set(key, now);
    const sum = within(this.#pools, now.poolId, () => new PoolSum());
    sum.add(now.capacity);
  }
}

/**
 * The capacity that the node adds to its pool. A node with the pool's label counts even if it has no claim, as in
 * upstream.
 */
function shareOf(view: NodeView | undefined): Share | undefined {
  if (view === undefined || view.deleting) return undefined;
  const poolId = view.poolId ?? poolIdOfLabels(view.labels);
  return poolId === undefined ? undefined : { poolId, capacity: view.capacity };
}

class PoolSum {
  readonly #sums: Record<string, number> = {};
  /**
   * For each resource: the number of nodes that have it. A resource that no node has any more is removed from the sum.
   */
  readonly #holders: Record<string, number> = {};
  #nodes = 0;
  #amounts: Resources | undefined;

  add(capacity: Resources): void {
    this.#nodes++;
    this.#amounts = undefined;
    for (const name in capacity) {
      this.#sums[name] = (this.#sums[name] ?? 0) + (capacity[name] as number);
      this.#holders[name] = (this.#holders[name] ?? 0) + 1;
    }
  }

  /** Subtracts a node's capacity. Returns how many nodes are left. */
  remove(capacity: Resources): number {
    this.#amounts = undefined;
    for (const name in capacity) {
      const holders = (this.#holders[name] as number) - 1;
      this.#holders[name] = holders;
      this.#sums[name] = (this.#sums[name] as number) - (capacity[name] as number);
      if (holders > 0) continue;
      delete this.#holders[name];
      delete this.#sums[name];
    }
    return --this.#nodes;
  }

  amounts(): Resources {
    this.#amounts ??= { ...this.#sums };
    return this.#amounts;
  }
}

/** The usage of a pool in a list of views, without a {@link PoolUsage}. Nodes without a claim do not count. */
export function usageOf(nodes: readonly NodeView[], poolId: string): Resources {
  return nodes
    .filter((node) => node.poolId === poolId && !node.deleting)
    .reduce((sum, { capacity }) => addResources(sum, capacity), NO_RESOURCES);
}
