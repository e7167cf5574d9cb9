/**
 * Several used nodes at once, for none or one cheaper in their place: the longest run of candidates,
 * best saving first, that can go together, found by halving.
 * upstream: pkg/controllers/disruption/multinodeconsolidation.go
 */
import { bySavings, type Candidate } from "../candidates.ts";
import type { Command, Verdict } from "../command.ts";
import { confirm, consolidate, isConsolidatable } from "../consolidation.ts";
import { guardCounter } from "../guards.ts";
import { budgetCounter, type Method, type MethodInput, type Proposal } from "./method.ts";

const MAX_NODES = 100;

export const multiNodeConsolidation: Method = {
  name: "multi-node consolidation",
  reason: "Underutilized",
  consolidationType: "multi",
  disruptionClass: "graceful",
  costly: true,
  waits: true,
  isEligible: isConsolidatable,
  propose,
  validate: confirm,
};

/** A command speaks for one generation: the first that has one wins, oldest words first. */
function propose(input: MethodInput): Proposal {
  const refused: Verdict[] = [];
  for (const generation of ["alpha", "beta", "v1"] as const) {
    if (generation === "alpha" && input.alphaBusy) continue;
    const chosen = together(
      input.candidates.filter((one) => one.generation === generation && isConsolidatable(one)),
      input,
    );
    const command = longest(chosen, input, refused);
    if (command !== undefined) return { commands: [command], remarks: [], refused };
  }
  return { commands: [], remarks: [], refused };
}

/** As many as budgets allow, whose pods the guards of their workloads let go together. */
function together(candidates: readonly Candidate[], input: MethodInput): readonly Candidate[] {
  const budgets = budgetCounter(input.allowances);
  const guards = guardCounter(input.pdbs);
  return candidates
    .toSorted(bySavings)
    .filter((one) => budgets.take(one))
    .filter((one) => guards.take(one.reschedulablePods))
    .slice(0, MAX_NODES);
}

/** `refused` takes the verdicts against moves that were tried. */
function longest(
  candidates: readonly Candidate[],
  input: MethodInput,
  refused: Verdict[],
): Command | undefined {
  let best: Command | undefined;
  let low = 2;
  let high = candidates.length;
  while (low <= high) {
    const count = (low + high) >> 1;
    const found = consolidate(candidates.slice(0, count), input);
    if ("message" in found) {
      refused.push(...(found.verdicts ?? []).filter(({ approved }) => !approved));
      high = count - 1;
    } else {
      best = found;
      low = count + 1;
    }
  }
  return best;
}
