/**
 * Which nodes to pack anew together: one after the other the node that gains most by joining those chosen
 * before, that is, whose price is furthest above what its pods' requests would cost beside theirs. So nodes
 * that are half empty find each other, and nodes full of cores find those full of memory.
 */
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../../apis/resources.ts";
import { Heap } from "../../../base/heap.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import type { NodeView } from "../../state/node-view.ts";
import { ViewNotes } from "../../state/view-notes.ts";
import type { Candidate } from "../candidates.ts";
import { guardCounter } from "../guards.ts";
import { budgetCounter } from "../methods/method.ts";
import type { Round } from "../round.ts";
import type { Group } from "./groups.ts";
import { Machines } from "./machines.ts";

/** Most nodes and pods that one command is about: what fails is taken back as a whole. */
export const MAX_NODES = 50;
const MAX_PODS = 1_000;
/** Of a large pool all are added up once a choice. */
const NODES_PER_STEP = 1_024;
/** Of those that may join: each is some ten nanoseconds' work, for each node that is chosen anew. */
const SCANNED_PER_STEP = 16_384;

export interface Choice {
  /** In the order in which they were chosen: the first of them are a choice too. */
  readonly candidates: readonly Candidate[];
  /** What packing those up to this one could save at the most, room on nodes that stay left out. */
  readonly gainsMicroUsd: readonly number[];
}

/** Nodes of the group that budgets, and guards of their pods, let go together. */
export function* chooseFrom({ candidates, poolIds }: Group, input: Round): Steps<Choice> {
  let total: Resources = NO_RESOURCES;
  yield* eachInSteps(candidates, NODES_PER_STEP, ({ node }) => {
    total = addResources(total, usedBy(node));
  });
  const names = Object.keys(total).filter((name) => (total[name] as number) > 0);
  const machines = machinesOf(input.simulator.input, poolIds, names.sort());
  yield;
  const budgets = budgetCounter(input.allowances);
  const guards = guardCounter(input.pdbs);
  const left = yield* leftOf(candidates, machines);
  const chosen: Candidate[] = [];
  const gains: number[] = [];
  const sum = new Float64Array(names.length);
  let paid = 0;
  let { prices } = machines.least(machines.amounts(total));
  let pods = 0;
  while (chosen.length < MAX_NODES) {
    yield;
    const most = chosen.length === 0 ? Number.POSITIVE_INFINITY : MAX_PODS - pods;
    let at = yield* left.dearest(
      prices,
      (one) => budgets.left(one) > 0 && one.reschedulablePods.length <= most,
    );
    // A guard may hold thousands, and nothing changes by it: the next one is not looked for among all.
    while (at >= 0 && !guards.take((candidates[at] as Candidate).reschedulablePods)) {
      yield;
      at = left.next();
    }
    const best = candidates[at];
    if (best === undefined) break;
    left.remove(at);
    budgets.take(best);
    pods += best.reschedulablePods.length;
    chosen.push(best);
    left.addTo(sum, at);
    const least = machines.least(sum);
    prices = least.prices;
    paid += best.priceMicroUsd;
    gains.push(paid - least.leastCost);
  }
  return { candidates: chosen, gainsMicroUsd: gains };
}

function* leftOf(candidates: readonly Candidate[], machines: Machines): Steps<Left> {
  const dimensions = machines.names.length;
  const left = new Left(candidates, dimensions);
  yield* eachInSteps(candidates, NODES_PER_STEP, ({ node }, at) => {
    machines.write(usedBy(node), left.used, at * dimensions);
  });
  return left;
}

/** Nodes that may still join, in flat arrays: each choice goes through all of them. */
class Left {
  /** Of each candidate in turn, as much as there are dimensions. */
  readonly used: Float64Array;
  readonly #dimensions: number;
  readonly #candidates: readonly Candidate[];
  /** Places of candidates; those from `#size` on are of no account. */
  readonly #places: Int32Array;
  #size: number;
  /** What is used of each, as a share of its price, when all were looked at last. */
  readonly #shares: Float64Array;
  /** Of those looked at last, the ones that are not gone; absent: not put in order yet. */
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
   * The place of the one with the largest share of its price beyond what is used of it, ties by name; -1: there is
   * none. Who may not join now may not later either, and is not looked at again.
   */
  *dearest(prices: Float64Array, mayJoin: (one: Candidate) => boolean): Steps<number> {
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

  /** The one that comes after it, which may not join: in the order in which all were looked at last. */
  next(): number {
    if (this.#inOrder === undefined) {
      this.#inOrder = new Heap((a, b) => this.#isDearer(a, b));
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

  #isDearer(a: number, b: number): boolean {
    const [left, right] = [this.#shares[a] as number, this.#shares[b] as number];
    return left === right ? this.#nameOf(a) < this.#nameOf(b) : left < right;
  }

  #nameOf(at: number): string {
    return (this.#candidates[at] as Candidate).node.name;
  }
}

const usedByView = new ViewNotes<Resources>();

/** By pods that would move: daemons run on any node. */
function usedBy(node: NodeView): Resources {
  let used = usedByView.get(node);
  if (used === undefined) {
    const taken = subtractResources(node.allocatable, node.available);
    used = subtractResources(taken, node.daemonRequests);
    usedByView.set(node, used);
  }
  return used;
}

/** Of one picture: one choice after the other asks for the same. */
const machinesByInput = new WeakMap<SchedulingInput, Map<string, Machines>>();

function machinesOf(
  input: SchedulingInput,
  poolIds: ReadonlySet<string>,
  names: readonly string[],
): Machines {
  const known = machinesByInput.get(input) ?? new Map<string, Machines>();
  machinesByInput.set(input, known);
  const key = JSON.stringify([[...poolIds].sort(), names]);
  const machines = known.get(key) ?? new Machines(input, poolIds, names);
  known.set(key, machines);
  return machines;
}
