/**
 * Many nodes for several others that are cheaper together: where upstream's methods would save less, nodes
 * that cost more than what is used of them are packed anew, as many at once as budgets and guards allow,
 * each command cheaper by itself. Every node is reckoned with in every sweep; only what could save enough is
 * planned. No upstream: it replaces any number of nodes by one.
 */
import { atOnce, type Steps } from "../../../base/steps.ts";
import { type Candidate, priceOfAll } from "../candidates.ts";
import { type Command, savingsMicroUsd, type Verdict } from "../command.ts";
import { isConsolidatable, stillThere, weighed } from "../consolidation.ts";
import { chooseFrom } from "../repack/choice.ts";
import { type Group, groupsOf } from "../repack/groups.ts";
import { asGoodMicroUsd, bestOf, repacked, worthTrying } from "../repack/search.ts";
import type { Simulator } from "../simulate.ts";
import type { Later, Method, MethodInput, Proposal, Rejection } from "./method.ts";

export const repack: Method = {
  name: "repack",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  costly: true,
  waits: true,
  isEligible: mayBeRepacked,
  propose,
  validate: (command, input) => atOnce(validateInSteps(command, input)),
  validateInSteps,
};

/** Older generations replace nodes by one at most. */
function mayBeRepacked(candidate: Candidate): boolean {
  return candidate.generation === "v1" && isConsolidatable(candidate);
}

/** Those that neither came in place of others a moment ago nor are of a pool whose last repack was in vain. */
export function openToRepack(input: MethodInput): readonly Candidate[] {
  return input.candidates.filter(
    (one) => mayBeRepacked(one) && !input.rests(one) && !input.poolRests(one),
  );
}

/** What packing a group anew comes to. */
interface Found {
  /** Undefined: it would save too little. */
  readonly command: Command | undefined;
  /** In a moment nodes could go along: what comes now then rests. */
  readonly waits: boolean;
  /** Verdicts against moves that were tried. */
  readonly refused: readonly Verdict[];
}

/** On one picture, with its candidates: consolidations ask before repack itself is asked. */
interface Search {
  readonly candidates: MethodInput["candidates"];
  readonly groups: readonly Group[];
  readonly found: Map<Group, Found>;
}

/** Groups that others ask about in one round, each some tenths of a second's work: of more they do as they like. */
const MOST_WEIGHED = 32;

const searches = new WeakMap<Simulator, Search>();

function searchOf(input: MethodInput): Search {
  const { simulator, candidates } = input;
  const known = searches.get(simulator);
  if (known?.candidates === candidates) return known;
  const groups = groupsOf(openToRepack(input), simulator.openTo());
  const search: Search = { candidates, groups, found: new Map() };
  searches.set(simulator, search);
  return search;
}

/** The same answer for all who ask in one round: it has its second look, on fresh facts, anyway. */
function* packedAnew(group: Group, input: MethodInput, { found }: Search): Steps<Found> {
  const known = found.get(group);
  if (known !== undefined) return known;
  const fresh = yield* searchIn(group, input);
  found.set(group, fresh);
  return fresh;
}

/** The command of the first group that need not wait. */
function* propose(input: MethodInput): Steps<Proposal> {
  if (input.repack === undefined) return { commands: [], remarks: [] };
  const search = searchOf(input);
  const refused: Verdict[] = [];
  const later: Later[] = [];
  for (const group of search.groups) {
    const { command, waits, refused: own } = yield* packedAnew(group, input, search);
    refused.push(...own);
    if (command === undefined) continue;
    if (!waits) return { commands: [command], remarks: [], refused, later };
    later.push({ command, poolIds: group.poolIds });
  }
  return { commands: [], remarks: [], refused, later };
}

/**
 * One choice after the other; what was tried in vain is not chosen again. Where all of the group that may go do, it
 * waits for nodes that could go with them in a moment.
 */
function* searchIn({ poolIds, candidates }: Group, input: MethodInput): Steps<Found> {
  const minShare = input.wantedShare(candidates);
  const refused: Verdict[] = [];
  for (let left = candidates; left.length > 0; ) {
    const choice = yield* chooseFrom({ poolIds, candidates: left }, input);
    const counts = worthTrying(choice, minShare);
    if (counts.length === 0) break;
    const best = yield* bestOf(choice, counts, input);
    const command = best === undefined ? undefined : weighed(best, input);
    if (command !== undefined && !("message" in command)) {
      const takesAll = choice.candidates.length === left.length;
      return { command, waits: takesAll && input.isSettling(poolIds), refused };
    }
    refused.push(...(command?.verdicts ?? []).filter(({ approved }) => !approved));
    const tried = new Set(choice.candidates);
    left = left.filter((one) => !tried.has(one));
  }
  return { command: undefined, waits: false, refused };
}

/**
 * Ids of those pools of a command's nodes that are left to repack: of each group of pools by itself, for what is
 * saved in one says nothing of the others. There packing anew saves more by far, at once or in a moment.
 */
export function* leftToRepack(command: Command, input: MethodInput): Steps<readonly string[]> {
  if (input.repack === undefined) return [];
  const search = searchOf(input);
  const left: string[] = [];
  for (const group of search.groups) {
    const { poolIds } = group;
    const candidates = command.candidates.filter(({ pool }) => poolIds.has(pool.id));
    if (candidates.length === 0) continue;
    if (search.found.size >= MOST_WEIGHED && !search.found.has(group)) continue;
    const { command: best } = yield* packedAnew(group, input, search);
    if (best === undefined) continue;
    const replacements = command.replacements.filter(({ pool }) => poolIds.has(pool.id));
    const price = priceOfAll([...new Set([...candidates, ...best.candidates])]);
    const wanted = asGoodMicroUsd(savingsMicroUsd(best), price, input.wantedShare(best.candidates));
    if (savingsMicroUsd({ candidates, replacements }) < wanted) left.push(...poolIds);
  }
  return left;
}

/** Packed anew on fresh facts: the same nodes must go, and it must save enough again. */
function* validateInSteps(command: Command, input: MethodInput): Steps<Command | Rejection> {
  const still = stillThere(command, input);
  if (typeof still === "string") return still;
  const again = yield* repacked(still, input);
  if (again === undefined) return "scheduling";
  const found = weighed(again, input);
  return "message" in found ? "scheduling" : { ...found, validateAfterMs: 0 };
}
