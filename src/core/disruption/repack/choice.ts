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
import { eachInSteps, mapInSteps, type Steps } from "../../../base/steps.ts";
import type { SchedulingInput } from "../../provisioning/scheduling-input.ts";
import type { NodeView } from "../../state/node-view.ts";
import { ViewNotes } from "../../state/view-notes.ts";
import type { Candidate } from "../candidates.ts";
import { guardCounter } from "../guards.ts";
import { budgetCounter, type MethodInput } from "../methods/method.ts";
import type { Group } from "./groups.ts";
import { Machines } from "./machines.ts";

/** Most nodes and pods that one command is about: what fails is taken back as a whole. */
export const MAX_NODES = 50;
const MAX_PODS = 1_000;
/** Of a large pool all are added up once a choice. */
const NODES_PER_STEP = 1_024;

export interface Choice {
  /** In the order in which they were chosen: the first of them are a choice too. */
  readonly candidates: readonly Candidate[];
  /** What packing those up to this one could save at the most, room on nodes that stay left out. */
  readonly gainsMicroUsd: readonly number[];
}

/** Nodes of the group that budgets, and guards of their pods, let go together. */
export function* chooseFrom({ candidates, poolIds }: Group, input: MethodInput): Steps<Choice> {
  let total: Resources = NO_RESOURCES;
  const open = yield* mapInSteps(candidates, NODES_PER_STEP, (candidate) => {
    const used = usedBy(candidate.node);
    total = addResources(total, used);
    return { candidate, used };
  });
  const names = Object.keys(total).filter((name) => (total[name] as number) > 0);
  const machines = machinesOf(input.simulator.input, poolIds, names.sort());
  const budgets = budgetCounter(input.allowances);
  const guards = guardCounter(input.pdbs);
  const left = new Map<Candidate, Float64Array>();
  yield* eachInSteps(open, NODES_PER_STEP, ({ candidate, used }) => {
    left.set(candidate, machines.amounts(used));
  });
  const chosen: Candidate[] = [];
  const gains: number[] = [];
  let sum: Float64Array | undefined;
  let paid = 0;
  let { prices } = machines.least(machines.amounts(total));
  let pods = 0;
  const mayJoin = (one: Candidate) =>
    budgets.left(one) > 0 &&
    (chosen.length === 0 || pods + one.reschedulablePods.length <= MAX_PODS);
  while (chosen.length < MAX_NODES) {
    yield;
    // All at once: looked at one by one they would cost as much as those that are chosen.
    for (const one of left.keys()) if (!mayJoin(one)) left.delete(one);
    const best = dearest(left, prices);
    if (best === undefined) break;
    const used = left.get(best) as Float64Array;
    left.delete(best);
    if (!guards.take(best.reschedulablePods)) continue;
    budgets.take(best);
    pods += best.reschedulablePods.length;
    chosen.push(best);
    sum = sum === undefined ? used : used.map((one, d) => one + (sum?.[d] ?? 0));
    const least = machines.least(sum);
    prices = least.prices;
    paid += best.priceMicroUsd;
    gains.push(paid - least.leastCost);
  }
  return { candidates: chosen, gainsMicroUsd: gains };
}

/** The one with the largest share of its price beyond what is used of it; ties by name. */
function dearest(
  left: ReadonlyMap<Candidate, Float64Array>,
  prices: Float64Array,
): Candidate | undefined {
  let best: Candidate | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const [candidate, used] of left) {
    if (candidate.priceMicroUsd === 0) continue;
    let worth = 0;
    for (let d = 0; d < used.length; d++) worth += (used[d] as number) * (prices[d] as number);
    const share = worth / candidate.priceMicroUsd;
    if (share > least) continue;
    if (share === least && best !== undefined && best.node.name < candidate.node.name) continue;
    least = share;
    best = candidate;
  }
  return best;
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
