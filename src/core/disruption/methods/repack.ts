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

/** Of a picture and the candidates on it: consolidations ask before repack itself is asked. */
const searched = new WeakMap<
  Simulator,
  { readonly candidates: MethodInput["candidates"]; readonly proposal: Proposal }
>();

/** The same answer for all who ask in one round: it has its second look, on fresh facts, anyway. */
function* propose(input: MethodInput): Steps<Proposal> {
  if (input.repack === undefined) return { commands: [], remarks: [] };
  const { simulator, candidates } = input;
  const known = searched.get(simulator);
  if (known?.candidates === candidates) return known.proposal;
  const proposal = yield* search(input);
  searched.set(simulator, { candidates, proposal });
  return proposal;
}

/**
 * The command of the first group that need not wait. Where all of a group that may go do, it waits for nodes that
 * could go with them in a moment: what comes now then rests.
 */
function* search(input: MethodInput): Steps<Proposal> {
  const refused: Verdict[] = [];
  const later: Later[] = [];
  for (const group of groupsOf(openToRepack(input), input.simulator.openTo())) {
    const found = yield* searchIn(group, input, refused);
    if (found === undefined) continue;
    const { poolIds } = group;
    if (!found.takesAll || !input.isSettling(poolIds))
      return { commands: [found.command], remarks: [], refused, later };
    later.push({ command: found.command, poolIds });
  }
  return { commands: [], remarks: [], refused, later };
}

/**
 * One choice after the other; what was tried in vain is not chosen again. `takesAll`: nobody else of the group could
 * go along. `refused` takes the verdicts against moves that were tried.
 */
function* searchIn(
  { poolIds, candidates }: Group,
  input: MethodInput,
  refused: Verdict[],
): Steps<{ readonly command: Command; readonly takesAll: boolean } | undefined> {
  const minShare = input.wantedShare(candidates);
  for (let left = candidates; left.length > 0; ) {
    const choice = yield* chooseFrom({ poolIds, candidates: left }, input);
    const counts = worthTrying(choice, minShare);
    if (counts.length === 0) return undefined;
    const best = yield* bestOf(choice, counts, input);
    const found = best === undefined ? undefined : weighed(best, input);
    if (found !== undefined && !("message" in found))
      return { command: found, takesAll: choice.candidates.length === left.length };
    refused.push(...(found?.verdicts ?? []).filter(({ approved }) => !approved));
    const tried = new Set(choice.candidates);
    left = left.filter((one) => !tried.has(one));
  }
  return undefined;
}

/**
 * The proposal of another method, without its command where packing anew would save more by far: at once, or, as
 * `later` of the answer says, in a moment nodes of the same pools.
 */
export function* unlessRepacked(proposal: Proposal, input: MethodInput): Steps<Proposal> {
  const [command] = proposal.commands;
  const { commands, later = [] } = yield* propose(input);
  if (command === undefined) return proposal;
  const isAboutIts = ({ poolIds }: Later) =>
    command.candidates.some(({ pool }) => poolIds.has(pool.id));
  const awaited = later.find(isAboutIts);
  const best = awaited?.command ?? commands[0];
  if (best === undefined) return proposal;
  const price = priceOfAll([...new Set([...command.candidates, ...best.candidates])]);
  const wanted = asGoodMicroUsd(savingsMicroUsd(best), price, input.wantedShare(best.candidates));
  const isAsGood = savingsMicroUsd(command) >= wanted;
  if (isAsGood) return proposal;
  const waits = awaited === undefined ? {} : { later: [awaited] };
  return { ...proposal, commands: [], waived: true, ...waits };
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
