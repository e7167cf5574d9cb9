/**
 * Replaces several nodes by several others that are cheaper together. It runs last, and only where upstream's methods
 * would save less. It rates every node by a lower bound on prices, and plans only what could save enough. karpenter-ts
 * only: upstream replaces any number of nodes by one.
 */
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import { type Candidate, priceOfAll } from "../candidates.ts";
import { type BalancedVerdict, type Command, savingsMicroUsd } from "../command.ts";
import {
  candidatesNow,
  isConsolidatable,
  isConsolidatableBy,
  jobPodOn,
  unlessHeldBack,
} from "../consolidation.ts";
import { disruptionCounter } from "../counters.ts";
import { chooseNodes, MAX_NODES, type RepackChoice } from "../repack/choice.ts";
import { type PoolGroup, poolGroups } from "../repack/groups.ts";
import { asGoodMicroUsd, bestOf, repacked, worthTrying } from "../repack/search.ts";
import type { Round } from "../round.ts";
import type { Simulator } from "../simulate.ts";
import type { Deferred, DeferredUntil, Method, Proposal, ValidationFailure } from "./method.ts";

export const repack: Method = {
  name: "repack",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  simulates: true,
  needsValidation: true,
  isEligible: mayBeRepacked,
  propose,
  validate,
};

/**
 * Whether the node may be repacked: a consolidatable v1 node with pods. Commands of older versions may have only one
 * replacement. Nodes with a pod of a Job are left out, because the Job would lose the work of this pod.
 */
function mayBeRepacked(candidate: Candidate, nowMs: number): boolean {
  if (candidate.generation !== "v1" || jobPodOn([candidate]) !== undefined) return false;
  if (candidate.reschedulablePods.length === 0) return false;
  return isConsolidatable(candidate, nowMs);
}

/** The candidates that may be repacked now: neither the node nor its pool is held off. */
export function repackCandidates(round: Round): Steps<readonly Candidate[]> {
  const { facts, holdOffs, nowMs } = round;
  return filterInSteps(
    facts.candidates,
    (one) => mayBeRepacked(one, nowMs) && !holdOffs.fromRepack(one),
  );
}

interface GroupResult {
  /** The command that repacks the pods. Undefined: repacking would save too little. */
  readonly command: Command | undefined;
  /** What the command waits for. Undefined: it may begin now. */
  readonly until: DeferredUntil | undefined;
  /** Verdicts of pools with the policy Balanced that refused commands which were tried. */
  readonly refused: readonly BalancedVerdict[];
}

/** The results of one round, cached because the consolidation methods need them before repack itself runs. */
interface Search {
  readonly candidates: readonly Candidate[];
  readonly groups: readonly PoolGroup[];
  readonly results: Map<PoolGroup, GroupResult>;
  /** How many reschedulable pods the groups in `results` have. */
  pods: number;
}

/**
 * The consolidation methods search at least this many groups of pools in one round. They search more while the groups
 * have fewer than {@link MIN_SEARCHED_PODS} pods in all. Searching one group can take some tenths of a second.
 */
const MIN_SEARCHED_GROUPS = 32;
const MIN_SEARCHED_PODS = 10_000;

const searches = new WeakMap<Simulator, Search>();

/** The search of this round. Its groups are made on the first call. */
function* searchOf(round: Round): Steps<Search> {
  const { simulator, candidates } = round.facts;
  const known = searches.get(simulator);
  if (known?.candidates === candidates) return known;
  const groups = yield* poolGroups(yield* repackCandidates(round), simulator.openTo());
  const search: Search = { candidates, groups, results: new Map(), pods: 0 };
  searches.set(simulator, search);
  return search;
}

function hasSearchedEnough({ results, pods }: Search): boolean {
  return results.size >= MIN_SEARCHED_GROUPS && pods >= MIN_SEARCHED_PODS;
}

/** The result for a group. It is computed on the first call in a round. */
function* resultFor(group: PoolGroup, round: Round, search: Search): Steps<GroupResult> {
  const known = search.results.get(group);
  if (known !== undefined) return known;
  const result = yield* searchGroup(group, round);
  search.results.set(group, result);
  for (const { reschedulablePods } of group.candidates) search.pods += reschedulablePods.length;
  return result;
}

/**
 * Proposes a command for each group whose command need not wait. Groups share no nodes, so their commands do not affect
 * each other. All commands together respect budgets and {@link MAX_NODES}. The group served longest ago comes first.
 */
function* propose(round: Round): Steps<Proposal> {
  if (round.settings.repack === undefined) return { commands: [], remarks: [] };
  const search = yield* searchOf(round);
  const refused: BalancedVerdict[] = [];
  const deferred: Deferred[] = [];
  const commands: Command[] = [];
  const servedPools: ReadonlySet<string>[] = [];
  const counter = disruptionCounter(round.budgets);
  let room = MAX_NODES;
  for (const group of longestUnservedFirst(search.groups, round)) {
    const { poolIds } = group;
    const { command, until, refused: own } = yield* resultFor(group, round, search);
    refused.push(...own);
    if (command === undefined) continue;
    if (until !== undefined) {
      deferred.push({ command, poolIds, until });
      continue;
    }
    if (command.candidates.length > room) break;
    if (!counter.takeAll(command.candidates)) continue;
    commands.push(command);
    servedPools.push(poolIds);
    room -= command.candidates.length;
  }
  return { commands, remarks: [], refused, deferred, servedPools };
}

function longestUnservedFirst(
  groups: readonly PoolGroup[],
  { holdOffs: { turns } }: Round,
): readonly PoolGroup[] {
  const last = new Map(groups.map((group) => [group, turns.lastMs(group.poolIds)]));
  return groups.toSorted((a, b) => (last.get(a) ?? 0) - (last.get(b) ?? 0));
}

/**
 * Chooses nodes and repacks them. If that saves too little, chooses again among the other nodes. It ends when no choice
 * could save enough, by the lower bound on prices.
 */
function* searchGroup({ poolIds, candidates }: PoolGroup, round: Round): Steps<GroupResult> {
  yield;
  const minShare = round.holdOffs.minRepackShare(candidates);
  const refused: BalancedVerdict[] = [];
  for (let left = candidates; left.length > 0; ) {
    yield;
    const choice = yield* chooseNodes({ poolIds, candidates: left }, round);
    const counts = worthTrying(choice, minShare);
    if (counts.length === 0) break;
    const best = yield* bestOf(choice, counts, round);
    const command = best === undefined ? undefined : unlessHeldBack(best, round);
    if (command !== undefined && !("message" in command)) {
      const isAll = choice.candidates.length === left.length;
      const until = isAll ? yield* deferredUntil({ poolIds, choice, command }, round) : undefined;
      return { command, until, refused };
    }
    refused.push(...(command?.refused ?? []));
    const tried = new Set(choice.candidates);
    left = left.filter((one) => !tried.has(one));
  }
  return { command: undefined, until: undefined, refused };
}

interface WholeGroup {
  readonly poolIds: ReadonlySet<string>;
  readonly choice: RepackChoice;
  readonly command: Command;
}

/**
 * What the command waits for. Undefined: it begins now. It waits if more nodes of its group will be quiet soon and
 * would increase the saving enough. Later, they could only be repacked alone, because the new nodes are held off.
 */
function* deferredUntil(
  { poolIds, choice, command }: WholeGroup,
  round: Round,
): Steps<DeferredUntil | undefined> {
  const { nowMs, facts, holdOffs } = round;
  if (yield* holdOffs.isSettling(poolIds)) return "settled";
  if (command.replacements.length === 0) return undefined;
  const atMs = nowMs + holdOffs.turns.waitLeftMs(poolIds, nowMs);
  const soon = yield* filterInSteps(
    facts.candidates,
    (one) =>
      poolIds.has(one.pool.id) && isConsolidatableBy(one, nowMs, atMs) && !holdOffs.fromRepack(one),
  );
  if (atMs <= nowMs || soon.length === 0) return undefined;
  const wider = yield* chooseNodes({ poolIds, candidates: [...choice.candidates, ...soon] }, round);
  const more = mostMicroUsd(wider) - mostMicroUsd(choice);
  const saves = savingsMicroUsd(command);
  const minShare = holdOffs.minRepackShare(wider.candidates);
  const price = priceOfAll(wider.candidates);
  return saves < asGoodMicroUsd(saves + more, price, minShare) ? "quiet" : undefined;
}

/** The most that repacking these nodes could save per hour, by the lower bound on prices. */
function mostMicroUsd({ gainsMicroUsd }: RepackChoice): number {
  return Math.max(0, ...gainsMicroUsd);
}

/** Ids of those pools of the command on which repack saves much more. Each group of pools is compared separately. */
export function* poolsLeftToRepack(command: Command, round: Round): Steps<readonly string[]> {
  if (round.settings.repack === undefined) return [];
  const search = yield* searchOf(round);
  const left: string[] = [];
  for (const group of search.groups) {
    const { poolIds } = group;
    const candidates = command.candidates.filter(({ pool }) => poolIds.has(pool.id));
    if (candidates.length === 0) continue;
    if (hasSearchedEnough(search) && !search.results.has(group)) continue;
    const { command: best, until } = yield* resultFor(group, round, search);
    if (best === undefined) continue;
    // Removing nodes without replacements does not wait for other nodes to become quiet.
    if (until === "quiet" && command.replacements.length === 0) continue;
    const replacements = command.replacements.filter(({ pool }) => poolIds.has(pool.id));
    const price = priceOfAll([...new Set([...candidates, ...best.candidates])]);
    const minShare = round.holdOffs.minRepackShare(best.candidates);
    const wanted = asGoodMicroUsd(savingsMicroUsd(best), price, minShare);
    if (savingsMicroUsd({ candidates, replacements }) < wanted) left.push(...poolIds);
  }
  return left;
}

/** The deferral by which another method leaves these pools (by id) to repack. Empty: there are none. */
export function deferredToRepack(poolIds: ReadonlySet<string>): readonly Deferred[] {
  return poolIds.size === 0 ? [] : [{ poolIds, until: "repacked" }];
}

/** Repacks the same nodes again on fresh facts. They must still be removable, and the result must save enough again. */
function* validate(command: Command, round: Round): Steps<Command | ValidationFailure> {
  const still = candidatesNow(command, round);
  if (typeof still === "string") return still;
  const again = yield* repacked(still, round, command.terms?.closed);
  if (again === undefined) return "scheduling";
  const found = unlessHeldBack(again, round);
  return "message" in found ? "scheduling" : { ...found, validateAfterMs: 0 };
}
