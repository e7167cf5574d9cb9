/**
 * Many nodes for several others that are cheaper together: where upstream's methods would save less, nodes
 * that cost more than what is used of them are packed anew, as many at once as budgets and guards allow,
 * each command cheaper by itself. Every node is reckoned with in every sweep; only what could save enough is
 * planned. No upstream: it replaces any number of nodes by one.
 */
import { atOnce, eachInSteps, filterInSteps, type Steps } from "../../../base/steps.ts";
import { type Candidate, priceOfAll } from "../candidates.ts";
import { type Command, savingsMicroUsd, type Verdict } from "../command.ts";
import {
  isConsolidatable,
  isConsolidatableBy,
  jobPodOn,
  stillThere,
  weighed,
} from "../consolidation.ts";
import { guardCounter } from "../guards.ts";
import { type Choice, chooseFrom, MAX_NODES } from "../repack/choice.ts";
import { type Group, groupsOf } from "../repack/groups.ts";
import { asGoodMicroUsd, bestOf, repacked, worthTrying } from "../repack/search.ts";
import type { Round } from "../round.ts";
import type { Simulator } from "../simulate.ts";
import {
  budgetCounter,
  type Later,
  type Method,
  type Proposal,
  type Rejection,
  type Until,
} from "./method.ts";

export const repack: Method = {
  name: "repack",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  costly: true,
  waits: true,
  isEligible: mayBeRepacked,
  propose,
  validate: (command, round) => atOnce(validateInSteps(command, round)),
  validateInSteps,
};

/** Older generations replace nodes by one at most, and so is a node that runs a pod of a Job. */
function mayBeRepacked(candidate: Candidate, nowMs: number): boolean {
  if (candidate.generation !== "v1" || jobPodOn([candidate]) !== undefined) return false;
  return isConsolidatable(candidate, nowMs);
}

/** Those that neither came in place of others a moment ago nor are of a pool whose last repack was in vain. */
export function* openToRepack(round: Round): Steps<readonly Candidate[]> {
  const open: Candidate[] = [];
  yield* eachInSteps(round.candidates, NODES_PER_STEP, (one) => {
    if (mayBeRepacked(one, round.nowMs) && !round.rests(one) && !round.poolRests(one))
      open.push(one);
  });
  return open;
}

/** What packing a group anew comes to. */
interface Found {
  /** Undefined: it would save too little. */
  readonly command: Command | undefined;
  /** Then nodes could go along: what comes now then rests. Undefined: it need not wait. */
  readonly until: Until | undefined;
  /** Verdicts against moves that were tried. */
  readonly refused: readonly Verdict[];
}

/** On one picture, with its candidates: consolidations ask before repack itself is asked. */
interface Search {
  readonly candidates: Round["candidates"];
  readonly groups: readonly Group[];
  readonly found: Map<Group, Found>;
  /** On nodes of the groups that were found. */
  readonly weighed: { pods: number };
}

/** Groups that others ask about in one round, each some tenths of a second's work: of more they do as they like, */
const MOST_WEIGHED = 32;
/** unless they are small: pods of all that were asked about. */
const MOST_PODS_WEIGHED = 10_000;

/** Of those that are only looked at. */
const NODES_PER_STEP = 1_024;

const searches = new WeakMap<Simulator, Search>();

function* searchOf(round: Round): Steps<Search> {
  const { simulator, candidates } = round;
  const known = searches.get(simulator);
  if (known?.candidates === candidates) return known;
  const groups = yield* groupsOf(yield* openToRepack(round), simulator.openTo());
  const search: Search = { candidates, groups, found: new Map(), weighed: { pods: 0 } };
  searches.set(simulator, search);
  return search;
}

function isEnough({ found, weighed }: Search): boolean {
  return found.size >= MOST_WEIGHED && weighed.pods >= MOST_PODS_WEIGHED;
}

/** The same answer for all who ask in one round: it has its second look, on fresh facts, anyway. */
function* packedAnew(group: Group, round: Round, search: Search): Steps<Found> {
  const { found, weighed } = search;
  const known = found.get(group);
  if (known !== undefined) return known;
  const fresh = yield* searchIn(group, round);
  found.set(group, fresh);
  for (const { reschedulablePods } of group.candidates) weighed.pods += reschedulablePods.length;
  return fresh;
}

/**
 * Commands of groups that need not wait, one of each, for groups have nothing to do with each other: as many as
 * budgets and guards allow together, about no more nodes than one command may be. Whose last turn is longest ago
 * comes first.
 */
function* propose(round: Round): Steps<Proposal> {
  if (round.repack === undefined) return { commands: [], remarks: [] };
  const search = yield* searchOf(round);
  const refused: Verdict[] = [];
  const later: Later[] = [];
  const commands: Command[] = [];
  const turns: ReadonlySet<string>[] = [];
  const budgets = budgetCounter(round.allowances);
  const guards = guardCounter(round.pdbs);
  let room = MAX_NODES;
  for (const group of inTurns(search.groups, round)) {
    const { poolIds } = group;
    const { command, until, refused: own } = yield* packedAnew(group, round, search);
    refused.push(...own);
    if (command === undefined) continue;
    if (until !== undefined) {
      later.push({ command, poolIds, until });
      continue;
    }
    const { candidates } = command;
    if (candidates.length > room) break;
    // What does not go takes up nothing of what others may.
    if (!budgets.fits(candidates)) continue;
    if (!guards.take(candidates.flatMap(({ reschedulablePods }) => reschedulablePods))) continue;
    for (const one of candidates) budgets.take(one);
    commands.push(command);
    turns.push(poolIds);
    room -= candidates.length;
  }
  return { commands, remarks: [], refused, later, turns };
}

function inTurns(groups: readonly Group[], { lastTurnMs }: Round): readonly Group[] {
  const last = new Map(groups.map((group) => [group, lastTurnMs(group.poolIds)]));
  return groups.toSorted((a, b) => (last.get(a) ?? 0) - (last.get(b) ?? 0));
}

/** One choice after the other; what was tried in vain is not chosen again. */
function* searchIn({ poolIds, candidates }: Group, round: Round): Steps<Found> {
  yield;
  const minShare = round.wantedShare(candidates);
  const refused: Verdict[] = [];
  for (let left = candidates; left.length > 0; ) {
    yield;
    const choice = yield* chooseFrom({ poolIds, candidates: left }, round);
    const counts = worthTrying(choice, minShare);
    if (counts.length === 0) break;
    const best = yield* bestOf(choice, counts, round);
    const command = best === undefined ? undefined : weighed(best, round);
    if (command !== undefined && !("message" in command)) {
      const isAll = choice.candidates.length === left.length;
      const until = isAll ? yield* untilWhen(poolIds, choice, command, round) : undefined;
      return { command, until, refused };
    }
    refused.push(...(command?.verdicts ?? []).filter(({ approved }) => !approved));
    const tried = new Set(choice.candidates);
    left = left.filter((one) => !tried.has(one));
  }
  return { command: undefined, until: undefined, refused };
}

/**
 * What a command of all that may go waits for: nodes that could go with them in a moment, for what comes now then
 * rests, and the leftovers may not save enough by themselves any more. Not for nodes that would bring nothing.
 */
function* untilWhen(
  poolIds: ReadonlySet<string>,
  choice: Choice,
  command: Command,
  round: Round,
): Steps<Until | undefined> {
  if (yield* round.isSettling(poolIds)) return "settled";
  if (command.replacements.length === 0) return undefined;
  const atMs = round.nowMs + round.patienceMs(poolIds);
  const soon = yield* filterInSteps(
    round.candidates,
    NODES_PER_STEP,
    (one) =>
      poolIds.has(one.pool.id) &&
      isConsolidatableBy(one, round.nowMs, atMs) &&
      !round.rests(one) &&
      !round.poolRests(one),
  );
  if (atMs <= round.nowMs || soon.length === 0) return undefined;
  const wider = yield* chooseFrom({ poolIds, candidates: [...choice.candidates, ...soon] }, round);
  const more = mostMicroUsd(wider) - mostMicroUsd(choice);
  const saves = savingsMicroUsd(command);
  const share = round.wantedShare(wider.candidates);
  const wanted = asGoodMicroUsd(saves + more, priceOfAll(wider.candidates), share);
  return saves < wanted ? "quiet" : undefined;
}

/** What packing these anew could save at the most. */
function mostMicroUsd({ gainsMicroUsd }: Choice): number {
  return Math.max(0, ...gainsMicroUsd);
}

/**
 * Ids of those pools of a command's nodes that are left to repack: of each group of pools by itself, for what is
 * saved in one says nothing of the others. There packing anew saves more by far, at once or in a moment.
 */
export function* leftToRepack(command: Command, round: Round): Steps<readonly string[]> {
  if (round.repack === undefined) return [];
  const search = yield* searchOf(round);
  const left: string[] = [];
  for (const group of search.groups) {
    const { poolIds } = group;
    const candidates = command.candidates.filter(({ pool }) => poolIds.has(pool.id));
    if (candidates.length === 0) continue;
    if (isEnough(search) && !search.found.has(group)) continue;
    const { command: best, until } = yield* packedAnew(group, round, search);
    if (best === undefined) continue;
    // Nodes that only go are not kept for the sake of others that might go along.
    if (until === "quiet" && command.replacements.length === 0) continue;
    const replacements = command.replacements.filter(({ pool }) => poolIds.has(pool.id));
    const price = priceOfAll([...new Set([...candidates, ...best.candidates])]);
    const wanted = asGoodMicroUsd(savingsMicroUsd(best), price, round.wantedShare(best.candidates));
    if (savingsMicroUsd({ candidates, replacements }) < wanted) left.push(...poolIds);
  }
  return left;
}

/** What a method says of the pools (by id) that {@link leftToRepack} named. */
export function leftForRepack(poolIds: ReadonlySet<string>): readonly Later[] {
  return poolIds.size === 0 ? [] : [{ poolIds, until: "repacked" }];
}

/** Packed anew on fresh facts: the same nodes must go, and it must save enough again. */
function* validateInSteps(command: Command, round: Round): Steps<Command | Rejection> {
  const still = stillThere(command, round);
  if (typeof still === "string") return still;
  const again = yield* repacked(still, round, command.supposing?.closed);
  if (again === undefined) return "scheduling";
  const found = weighed(again, round);
  return "message" in found ? "scheduling" : { ...found, validateAfterMs: 0 };
}
