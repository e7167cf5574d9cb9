/**
 * Searches for the best repack command for chosen nodes: of all of them, then of half as many, and so on, because fewer
 * nodes mean fewer moved pods. A number of nodes that cannot save enough by the lower bound is not planned. Work is
 * limited by numbers of nodes and pods, never by time, so equal clusters give equal commands.
 */
import { isReschedulable } from "../../../apis/core/pod-predicates.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import { priceMicroUsd } from "../../planner/plan-price.ts";
import type { PlannerOptions } from "../../planner/planner-options.ts";
import { type Candidate, priceOfAll } from "../candidates.ts";
import { type Command, savingsMicroUsd } from "../command.ts";
import { commandFrom } from "../consolidation.ts";
import type { Round } from "../round.ts";
import type { SimulationTerms } from "../simulate.ts";
import type { RepackChoice } from "./choice.ts";

/** A command for fewer nodes is as good as another one if it saves at least this share of what the other one saves. */
const LEAST_SHARE = 0.95;
/**
 * The loss must also be at most this share of what one more repack would have to save: `wantedShare` of the cost that
 * is left.
 */
const MOST_LOSS = 0.1;

/**
 * The least saving that is as good as a saving of `microUsd`. `price`: the price of all nodes of both commands.
 * `wantedShare`: the share of its price that a repack must save. If most of the price is saved, even a small loss is
 * large compared with the cost that is left.
 */
export function asGoodMicroUsd(microUsd: number, price: number, wantedShare: number): number {
  return (
    microUsd - Math.min(microUsd * (1 - LEAST_SHARE), (price - microUsd) * wantedShare * MOST_LOSS)
  );
}

/**
 * A repack may use this many times the planner's usual work for packing, because no pod waits for it. With the usual
 * work, workload C-empty of 180 nodes settles at a 0.6 % higher price (`npm run bench -- repack`).
 */
const EFFORT = 20;
/** A repack may use this many times the planner's usual work for dividing pods with a zone spread. */
const EXCHANGE_EFFORT = 40;
/**
 * In how many orders of pods a repack fills nodes by dual prices. The second one takes 2 % more time. Without it,
 * workload C-spread of 100 nodes settles at a 0.6 % higher price (`npm run bench -- repack`).
 */
const ORDERS = 2;

/** The numbers of nodes to try: all, then half of them, and so on. */
export function countsOf(choice: RepackChoice): number[] {
  const counts: number[] = [];
  for (let count = choice.candidates.length; count >= 1; count = Math.floor(count / 2))
    counts.push(count);
  return counts;
}

/** The numbers of nodes that could save at least this share of their price. Empty: none could. */
export function worthTrying(choice: RepackChoice, minShare: number): number[] {
  return countsOf(choice).filter((count) => shareOf(choice, count) >= minShare);
}

/** The most that repacking the first `count` nodes could save, as a share of their price. */
export function shareOf(choice: RepackChoice, count: number): number {
  return gainOf(choice, count) / priceOfAll(choice.candidates.slice(0, count));
}

function gainOf({ gainsMicroUsd }: RepackChoice, count: number): number {
  return gainsMicroUsd[count - 1] ?? 0;
}

/** The command that saves most, or one for fewer nodes that is as good. `counts`: the numbers of nodes to try. */
export function* bestOf(
  choice: RepackChoice,
  counts: readonly number[],
  round: Round,
): Steps<Command | undefined> {
  const price = priceOfAll(choice.candidates);
  const share = round.holdOffs.minRepackShare(choice.candidates);
  let best: Command | undefined;
  let most = 0;
  const open = [...counts];
  for (let count = open.shift(); count !== undefined; count = open.shift()) {
    const known = best === undefined ? 0 : asGoodMicroUsd(most, price, share);
    if (gainOf(choice, count) < known) continue;
    const found = yield* repacked(choice.candidates.slice(0, count), round);
    if (found === undefined || savingsMicroUsd(found) <= known) continue;
    best = found;
    most = Math.max(most, savingsMicroUsd(found));
    // The last nodes may add nothing. So the smallest number of nodes that could save as much is tried, too.
    const enough = 1 + choice.gainsMicroUsd.findIndex((gain) => gain >= savingsMicroUsd(found));
    if (enough > 0 && enough < count && !open.includes(enough)) open.unshift(enough);
  }
  return best;
}

/**
 * The command that repacks the pods of these nodes. Undefined: repack is off, no such plan was found, or it saves too
 * little. `closedBefore`, only for validation: the nodes that the first plan was not allowed to use.
 */
export function* repacked(
  candidates: readonly Candidate[],
  round: Round,
  closedBefore?: ReadonlySet<string>,
): Steps<Command | undefined> {
  const { settings, facts, holdOffs } = round;
  if (settings.repack === undefined) return undefined;
  const planner = thoroughPlanner(settings.repack.planner, candidates);
  const nodeCost = planner.nodeMicroUsdPerHour;
  const before = priceOfAll(candidates) + nodeCost * candidates.length;
  const mostMicroUsd = before * (1 - holdOffs.minRepackShare(candidates));
  const terms: SimulationTerms = {
    packed: { planner, mostMicroUsd },
    closed: yield* closedNodes(round, closedBefore),
  };
  const simulation = yield* facts.simulator.withoutInSteps(candidates, terms);
  if (simulation.gaveUp) return undefined;
  const move = commandFrom({ candidates, simulation, isPacked: true }, round);
  if ("message" in move) return undefined;
  const { replacements } = move;
  const after = priceMicroUsd({ newClaims: replacements }) + nodeCost * replacements.length;
  return after > mostMicroUsd ? undefined : { ...move, terms };
}

/**
 * Names of nodes that must take no pods: those that are not quiet. For validation, also empty nodes that the first plan
 * did not use: they will be removed soon.
 */
function* closedNodes(
  { facts: { simulator, nodes } }: Round,
  closedBefore: ReadonlySet<string> | undefined,
): Steps<ReadonlySet<string>> {
  const unquiet = simulator.unquietNodes();
  if (closedBefore === undefined) return unquiet;
  const empty = yield* filterInSteps(
    nodes,
    ({ name, pods }) => closedBefore.has(name) && !unquiet.has(name) && !pods.some(isReschedulable),
  );
  if (empty.length === 0) return unquiet;
  return new Set([...unquiet, ...empty.map(({ name }) => name)]);
}

/** The settings of the planner with more work for a repack of these nodes. */
function thoroughPlanner(
  planner: PlannerOptions,
  candidates: readonly Candidate[],
): PlannerOptions {
  const { baseWork, workPerPod } = planner;
  const pods = candidates.reduce((sum, one) => sum + one.reschedulablePods.length, 0);
  const nodes = new Map(candidates.map(({ node }) => [node.name, node.labels]));
  return {
    ...planner,
    baseWork: (baseWork + workPerPod * pods) * EFFORT,
    workPerPod: 0,
    domainSearchWork: baseWork * EXCHANGE_EFFORT,
    dualPriceOrders: ORDERS,
    domainNow: ({ spec }, key) => nodes.get(spec.nodeName ?? "")?.[key],
  };
}
