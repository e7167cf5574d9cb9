/**
 * Many nodes for several others that are cheaper together: where upstream's methods find nothing more, the
 * most wasteful nodes are packed anew, as many at once as budgets and guards allow, each command cheaper by
 * itself. Every node is reckoned with in every sweep; only those that waste something are tried.
 * No upstream: it replaces any number of nodes by one.
 */
import type { Steps } from "../../../base/steps.ts";
import type { Candidate } from "../candidates.ts";
import type { Command, Verdict } from "../command.ts";
import { isConsolidatable, stillThere, weighed } from "../consolidation.ts";
import { groupsOf } from "../repack/groups.ts";
import { bestOf, portion, repacked } from "../repack/search.ts";
import { valued } from "../repack/worth.ts";
import type { Method, MethodInput, Proposal, Rejection } from "./method.ts";

export const repack: Method = {
  name: "repack",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  costly: true,
  waits: true,
  isEligible: (candidate) => mayBeRepacked(candidate),
  propose,
  validate,
};

/** Older generations replace nodes by one at most. */
function mayBeRepacked(candidate: Candidate): boolean {
  return candidate.generation === "v1" && isConsolidatable(candidate);
}

/** Portion by portion of one group after the other. */
function* propose(input: MethodInput): Steps<Proposal> {
  const refused: Verdict[] = [];
  const { simulator } = input;
  if (input.repack === undefined) return { commands: [], remarks: [] };
  const least = input.repack.minSavingsPercent / 100;
  const candidates = input.candidates.filter((one) => mayBeRepacked(one) && !input.rests(one));
  for (const group of groupsOf(candidates, simulator.openTo())) {
    let ranked = valued(group.candidates, group.poolIds, simulator.input).filter(
      ({ candidate, wasteMicroUsd }) => wasteMicroUsd > candidate.priceMicroUsd * least,
    );
    for (;;) {
      yield;
      const tried = new Set(portion(ranked, input));
      if (tried.size === 0) break;
      const found = bestOf([...tried], input);
      const command = found === undefined ? undefined : weighed(found, input);
      if (command !== undefined && !("message" in command))
        return { commands: [command], remarks: [], refused };
      refused.push(...(command?.verdicts ?? []).filter(({ approved }) => !approved));
      ranked = ranked.filter((one) => !tried.has(one));
    }
  }
  return { commands: [], remarks: [], refused };
}

/** Packed anew on fresh facts: the same nodes must go, and it must save enough again. */
function validate(command: Command, input: MethodInput): Command | Rejection {
  const still = stillThere(command, input);
  if (typeof still === "string") return still;
  const again = repacked(still, input);
  if (again === undefined) return "scheduling";
  const found = weighed(again, input);
  return "message" in found ? "scheduling" : { ...found, validateAfterMs: 0 };
}
