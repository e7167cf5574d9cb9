/**
 * Many nodes for several cheaper ones: of the most wasteful nodes of a group as many as may go together
 * are packed anew, then half as many, and so on, for fewer nodes are fewer pods moved. All is counted in
 * nodes and pods, none of it in time: equal pictures give equal commands.
 */
import type { Candidate } from "../candidates.ts";
import { type Command, savingsMicroUsd } from "../command.ts";
import { asPlanned } from "../consolidation.ts";
import { guardCounter } from "../guards.ts";
import { budgetCounter, type MethodInput } from "../methods/method.ts";
import type { Supposing } from "../simulate.ts";
import type { Valued } from "./worth.ts";

/** Most nodes and pods that one command is about: what fails is taken back as a whole. */
const MAX_NODES = 50;
const MAX_PODS = 1_000;
/** Fewer nodes are as good if they save that much of what more of them do. */
const NEARLY = 0.95;

/** The next nodes that may go together, by their order: budgets, and guards of their pods, let all go. */
export function portion(ranked: readonly Valued[], input: MethodInput): readonly Valued[] {
  const budgets = budgetCounter(input.allowances);
  const guards = guardCounter(input.pdbs);
  const taken: Valued[] = [];
  let pods = 0;
  for (const one of ranked) {
    const { candidate } = one;
    const { length } = candidate.reschedulablePods;
    if (taken.length > 0 && pods + length > MAX_PODS) continue;
    if (budgets.left(candidate) <= 0 || !guards.take(candidate.reschedulablePods)) continue;
    budgets.take(candidate);
    taken.push(one);
    pods += length;
    if (taken.length >= MAX_NODES) break;
  }
  return taken;
}

/** The command about the first of these that saves the most, or about fewer that save nearly as much. */
export function bestOf(portion: readonly Valued[], input: MethodInput): Command | undefined {
  let best: Command | undefined;
  for (let count = portion.length; count >= 1; count = Math.floor(count / 2)) {
    const tried = portion.slice(0, count);
    const waste = tried.reduce((sum, { wasteMicroUsd }) => sum + wasteMicroUsd, 0);
    const known = best === undefined ? 0 : savingsMicroUsd(best) * NEARLY;
    // Room on nodes that stay may make more of it, but seldom so much.
    if (waste < known) break;
    const found = repacked(
      tried.map(({ candidate }) => candidate),
      input,
    );
    if (found !== undefined && savingsMicroUsd(found) > known) best = found;
  }
  return best;
}

/** The command that packs the pods of these nodes anew; undefined: it would save too little. */
export function repacked(
  candidates: readonly Candidate[],
  input: MethodInput,
): Command | undefined {
  if (input.repack === undefined) return undefined;
  const { planner, minSavingsPercent } = input.repack;
  const before = candidates.reduce((sum, { priceMicroUsd }) => sum + priceMicroUsd, 0);
  const nodeCost = planner.nodeMicroUsdPerHour * candidates.length;
  const most = (before + nodeCost) * (1 - minSavingsPercent / 100);
  const supposing: Supposing = {
    packed: { planner, mostMicroUsd: most },
    closed: input.simulator.restless(),
  };
  const simulation = input.simulator.without(candidates, supposing);
  if (simulation.gaveUp) return undefined;
  const move = asPlanned(candidates, simulation, input, true);
  if ("message" in move) return undefined;
  const after = move.replacements.reduce(
    (sum, { cheapest }) => sum + cheapest.priceMicroUsd + planner.nodeMicroUsdPerHour,
    0,
  );
  return after > most ? undefined : { ...move, supposing };
}
