/**
 * Chooses which nodes to repack together, one after the other, always the most wasteful one. That is the node with the
 * least worth of used resources for its price. A resource is worth what it costs on the cheapest instance types
 * (`CheapestTypes`). After each choice, resources are priced again for the pods of all chosen nodes. So nodes that lack
 * memory are combined with nodes that lack cpu.
 */
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../../apis/resources.ts";
import { Heap } from "../../../base/heap.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import type { NodeView } from "../../state/node-view.ts";
import { ViewNotes } from "../../state/view-notes.ts";
import type { Candidate } from "../candidates.ts";
import { disruptionCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { CheapestTypes } from "./cheapest-types.ts";
import type { PoolGroup } from "./groups.ts";

/** The most nodes of one command. A command that fails is rolled back as a whole. */
export const MAX_NODES = 50;
/** The most pods of one command, unless its first node has more. */
const MAX_PODS = 1_000;
/**
 * Nodes that are scanned in one step. A scan takes about 10 ns a node and runs once for each chosen node. The first one
 * asks each node for its budgets, which takes some microseconds.
 */
const SCANNED_PER_STEP = 1_024;

/** Nodes that are repacked together. */
export interface RepackChoice {
  /** The chosen nodes, in the order of choice. The first n of them are a valid choice, too. */
  readonly candidates: readonly Candidate[];
  /** For each candidate: a bound on the saving per hour of it and the candidates before it, without room elsewhere. */
  readonly gainsMicroUsd: readonly number[];
}

/** Chooses nodes of the group, as many as budgets and PodDisruptionBudgets allow together. */
export function* chooseNodes(
  { candidates, poolIds }: PoolGroup,
  { facts, budgets }: Round,
): Steps<RepackChoice> {
  let total: Resources = NO_RESOURCES;
  yield* eachInSteps(candidates, ({ node }) => {
    total = addResources(total, usedBy(node));
  });
  const names = Object.keys(total).filter((name) => (total[name] as number) > 0);
  const types = cheapestTypesOf(facts.simulator.input, poolIds, names.sort());
  yield;
  const counter = disruptionCounter(budgets);
  const left = yield* allLeft(candidates, types);
  const chosen: Candidate[] = [];
  const gains: number[] = [];
  const sum = new Float64Array(names.length);
  let paid = 0;
  let { prices } = types.least(types.amounts(total));
  let pods = 0;
  while (chosen.length < MAX_NODES) {
    yield;
    const most = chosen.length === 0 ? Number.POSITIVE_INFINITY : MAX_PODS - pods;
    let at = yield* left.mostWasteful(
      prices,
      (one) => counter.left(one) > 0 && one.reschedulablePods.length <= most,
    );
    // A PodDisruptionBudget may protect thousands of nodes. Prices stay the same, so no new scan is needed.
    while (at >= 0 && !counter.take(candidates[at] as Candidate)) {
      yield;
      at = left.next();
    }
    const best = candidates[at];
    if (best === undefined) break;
    left.remove(at);
    pods += best.reschedulablePods.length;
    chosen.push(best);
    left.addTo(sum, at);
    const least = types.least(sum);
    prices = least.prices;
    paid += best.priceMicroUsd;
    gains.push(paid - least.leastCost);
  }
  return { candidates: chosen, gainsMicroUsd: gains };
}

function* allLeft(candidates: readonly Candidate[], types: CheapestTypes): Steps<Left> {
  const dimensions = types.names.length;
  const left = new Left(candidates, dimensions);
  yield* eachInSteps(candidates, ({ node }, at) => {
    types.write(usedBy(node), left.used, at * dimensions);
  });
  return left;
}

/** The nodes that may still be chosen. They are in flat arrays, because each scan goes through all of them. */
class Left {
  /** The amounts that the pods of each candidate use, one number for each resource, candidate after candidate. */
  readonly used: Float64Array;
  readonly #dimensions: number;
  readonly #candidates: readonly Candidate[];
  /** Indices into `#candidates`. Only the first `#size` are in use. */
  readonly #places: Int32Array;
  #size: number;
  /** For each candidate: what its used amounts are worth, as a share of its price, at the last scan. */
  readonly #shares: Float64Array;
  /** The nodes of the last scan, the most wasteful first. Made when {@link next} first needs it. */
  #inOrder: Heap<number> | undefined;
  readonly #gone: Uint8Array;

  constructor(candidates: readonly Candidate[], dimensions: number) {
    this.used = new Float64Array(candidates.length * dimensions);
    this.#dimensions = dimensions;
    this.#candidates = candidates;
    this.#places = Int32Array.from(candidates, (_, at) => at);
    this.#size = candidates.length;
    this.#shares = new Float64Array(candidates.length);
    this.#gone = new Uint8Array(candidates.length);
  }

  /**
   * The index of the node whose pods use the smallest share of its price; of equal ones, the first by name. -1: none. A
   * node that `mayJoin` refuses is never chosen later, because budgets and room for pods only become smaller.
   */
  *mostWasteful(prices: Float64Array, mayJoin: (one: Candidate) => boolean): Steps<number> {
    let best = -1;
    let least = Number.POSITIVE_INFINITY;
    let kept = 0;
    const size = this.#size;
    this.#inOrder = undefined;
    for (let from = 0; from < size; from += SCANNED_PER_STEP) {
      if (from > 0) yield;
      const to = Math.min(size, from + SCANNED_PER_STEP);
      for (let index = from; index < to; index++) {
        const at = this.#places[index] as number;
        const candidate = this.#candidates[at] as Candidate;
        if (this.#gone[at] === 1 || candidate.priceMicroUsd === 0 || !mayJoin(candidate)) continue;
        this.#places[kept++] = at;
        const share = this.#worth(at, prices) / candidate.priceMicroUsd;
        this.#shares[at] = share;
        if (share > least) continue;
        if (share === least && best >= 0 && this.#nameOf(best) < candidate.node.name) continue;
        least = share;
        best = at;
      }
    }
    this.#size = kept;
    return best;
  }

  /**
   * Removes the node that the last scan or call returned. Returns the next one at the same prices. -1: none is left.
   */
  next(): number {
    if (this.#inOrder === undefined) {
      this.#inOrder = new Heap((a, b) => this.#isMoreWasteful(a, b));
      for (let index = 0; index < this.#size; index++)
        this.#inOrder.push(this.#places[index] as number);
    }
    const refused = this.#inOrder.pop();
    if (refused !== undefined) this.remove(refused);
    return this.#inOrder.peek() ?? -1;
  }

  remove(at: number): void {
    this.#gone[at] = 1;
  }

  addTo(sum: Float64Array, at: number): void {
    for (let d = 0; d < sum.length; d++)
      sum[d] = (this.used[at * this.#dimensions + d] as number) + (sum[d] as number);
  }

  #worth(at: number, prices: Float64Array): number {
    let worth = 0;
    for (let d = 0; d < this.#dimensions; d++)
      worth += (this.used[at * this.#dimensions + d] as number) * (prices[d] as number);
    return worth;
  }

  #isMoreWasteful(a: number, b: number): boolean {
    const [left, right] = [this.#shares[a] as number, this.#shares[b] as number];
    return left === right ? this.#nameOf(a) < this.#nameOf(b) : left < right;
  }

  #nameOf(at: number): string {
    return (this.#candidates[at] as Candidate).node.name;
  }
}

const usedByView = new ViewNotes<Resources>();

/** The amounts that reschedulable pods use. Daemon pods do not count, because they run on any node. */
function usedBy(node: NodeView): Resources {
  return within(usedByView, node, () => {
    const taken = subtractResources(node.allocatable, node.available);
    return subtractResources(taken, node.daemonRequests);
  });
}

/** Cached for each input, because each choice in a round needs the same types. */
const cheapestTypesByInput = new WeakMap<SchedulingInput, Map<string, CheapestTypes>>();

function cheapestTypesOf(
  input: SchedulingInput,
  poolIds: ReadonlySet<string>,
  names: readonly string[],
): CheapestTypes {
  const known = within(cheapestTypesByInput, input, () => new Map<string, CheapestTypes>());
  const key = JSON.stringify([[...poolIds].sort(), names]);
  return within(known, key, () => new CheapestTypes(input, poolIds, names));
}
