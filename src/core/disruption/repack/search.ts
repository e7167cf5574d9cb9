/**
 * Many nodes for several cheaper ones: all that were chosen together are packed anew, then half as many, and
 * so on, for fewer nodes are fewer pods moved. What cannot save enough by the yardstick is not planned at
 * all. Everything is counted in nodes and pods, nothing in time: equal pictures give equal commands.
 */
import { isReschedulable } from "../../../apis/core/pod-predicates.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import type { PlannerOptions } from "../../planner/planner-options.ts";
import type { Candidate } from "../candidates.ts";
import { priceOfAll } from "../candidates.ts";
import { type Command, savingsMicroUsd } from "../command.ts";
import { asPlanned } from "../consolidation.ts";
import type { Round } from "../round.ts";
import type { Supposing } from "../simulate.ts";
import type { Choice } from "./choice.ts";

/** A command is as good as another if it saves that much of what that one would, */
const NEARLY = 0.95;
/** and if what it leaves unsaved is this share at most of what a command of its own would have to save. */
const UNSAVED = 0.1;

/**
 * The least that a command must save to be as good as one that saves `microUsd`. `price`: of all nodes that either
 * is about; where most of it is saved, little of that is much of what they cost in the end.
 */
export function asGoodMicroUsd(microUsd: number, price: number, wantedShare: number): number {
  return microUsd - Math.min(microUsd * (1 - NEARLY), (price - microUsd) * wantedShare * UNSAVED);
}

/** Of those that are only looked at. */
const NODES_PER_STEP = 1_024;

/**
 * Times the work that a batch of waiting pods is given, and for dividing spread pods: nobody waits for this. A batch has
 * what is for any or what is for its pods; here it is both, and what that finds is paid for long: with the larger one
 * alone C-empty of 180 nodes (bench) rests 0.6 % dearer.
 */
const EFFORT = 20;
const EXCHANGE_EFFORT = 40;
/**
 * Nor is it filled in one order only by what the columns taught, as a batch is. A second one takes 2 % more: without it
 * C-spread of 100 nodes rests 0.6 % dearer.
 */
const LEARNED_ORDERS = 2;

/** Numbers of nodes that are considered, the most first. */
export function countsOf(choice: Choice): number[] {
  const counts: number[] = [];
  for (let count = choice.candidates.length; count >= 1; count = Math.floor(count / 2))
    counts.push(count);
  return counts;
}

/** Those of them that may be worth trying; none: there is nothing to gain. */
export function worthTrying(choice: Choice, minShare: number): number[] {
  return countsOf(choice).filter((count) => shareOf(choice, count) >= minShare);
}

/** What packing so many anew could save at the most of what they cost. */
export function shareOf(choice: Choice, count: number): number {
  return gainOf(choice, count) / priceOfAll(choice.candidates.slice(0, count));
}

function gainOf({ gainsMicroUsd }: Choice, count: number): number {
  return gainsMicroUsd[count - 1] ?? 0;
}

/** The command that saves the most, or one about fewer nodes that is as good. */
export function* bestOf(
  choice: Choice,
  counts: readonly number[],
  round: Round,
): Steps<Command | undefined> {
  const price = priceOfAll(choice.candidates);
  const share = round.wantedShare(choice.candidates);
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
    // Those that were chosen last may not have brought anything.
    const enough = 1 + choice.gainsMicroUsd.findIndex((gain) => gain >= savingsMicroUsd(found));
    if (enough > 0 && enough < count && !open.includes(enough)) open.unshift(enough);
  }
  return best;
}

/**
 * The command that packs the pods of these nodes anew; undefined: it would save too little. `shunned`: nodes that
 * nobody was to be moved to when it was looked for first.
 */
export function* repacked(
  candidates: readonly Candidate[],
  round: Round,
  shunned?: ReadonlySet<string>,
): Steps<Command | undefined> {
  if (round.repack === undefined) return undefined;
  const planner = thorough(round.repack.planner, candidates);
  const nodeCost = planner.nodeMicroUsdPerHour;
  const before = priceOfAll(candidates) + nodeCost * candidates.length;
  const mostMicroUsd = before * (1 - round.wantedShare(candidates));
  const supposing: Supposing = {
    packed: { planner, mostMicroUsd },
    closed: yield* closedTo(round, shunned),
  };
  const simulation = yield* round.simulator.withoutInSteps(candidates, supposing);
  if (simulation.gaveUp) return undefined;
  const move = asPlanned(candidates, simulation, round, true);
  if ("message" in move) return undefined;
  const after = move.replacements.reduce(
    (sum, { cheapest }) => sum + cheapest.priceMicroUsd + nodeCost,
    0,
  );
  return after > mostMicroUsd ? undefined : { ...move, supposing };
}

/**
 * Nodes that nobody should be moved to. One that has come to rest since the first look is room, unless it is empty:
 * emptiness takes it as soon as this command no longer waits, and what is put there first keeps it.
 */
function* closedTo(
  { simulator, nodes }: Round,
  shunned: ReadonlySet<string> | undefined,
): Steps<ReadonlySet<string>> {
  const restless = simulator.restless();
  if (shunned === undefined) return restless;
  const empty = yield* filterInSteps(
    nodes,
    NODES_PER_STEP,
    ({ name, pods }) => shunned.has(name) && !restless.has(name) && !pods.some(isReschedulable),
  );
  if (empty.length === 0) return restless;
  return new Set([...restless, ...empty.map(({ name }) => name)]);
}

function thorough(planner: PlannerOptions, candidates: readonly Candidate[]): PlannerOptions {
  const { baseWork, workPerPod } = planner;
  const pods = candidates.reduce((sum, one) => sum + one.reschedulablePods.length, 0);
  const nodes = new Map(candidates.map(({ node }) => [node.name, node.labels]));
  return {
    ...planner,
    baseWork: (baseWork + workPerPod * pods) * EFFORT,
    workPerPod: 0,
    domainSearchWork: baseWork * EXCHANGE_EFFORT,
    dualPriceOrders: LEARNED_ORDERS,
    domainNow: ({ spec }, key) => nodes.get(spec.nodeName ?? "")?.[key],
  };
}
