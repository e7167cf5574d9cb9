/**
 * Emptiness: nodes with nothing but daemons go, as many as the budgets allow. v1 waits consolidateAfter
 * (the Consolidatable condition) and looks again after 15 s. Alpha's ttlSecondsAfterEmpty and beta's
 * WhenEmpty count from the Empty condition and do not look again; their consolidation takes empty nodes
 * at once, and does. upstream: pkg/controllers/disruption/emptiness.go, and v0.31 emptynodeconsolidation
 */
import { condition } from "../../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { filterInSteps } from "../../../base/steps.ts";
import { bySavings, type Candidate } from "../candidates.ts";
import type { Command } from "../command.ts";
import { isQuiet } from "../consolidation.ts";
import {
  budgetCounter,
  inCommands,
  LOOKED_AT_PER_STEP,
  type Method,
  type MethodInput,
  type Rejection,
} from "./method.ts";

/** Pods come and go: an empty node must still be empty after this. */
const VALIDATION_MS = 15_000;

export const emptiness: Method = {
  name: "emptiness",
  reason: "Empty",
  consolidationType: "empty",
  disruptionClass: "graceful",
  costly: false,
  waits: false,
  isEligible: (candidate, nowMs) => wayOf(candidate, nowMs) !== undefined,
  *propose(input) {
    const { nowMs } = input;
    const going = (one: Candidate) => wayOf(one, nowMs) !== undefined;
    const candidates = yield* filterInSteps(input.candidates, LOOKED_AT_PER_STEP, going);
    return { commands: commands({ ...input, candidates }), remarks: [] };
  },
  validate,
};

/** How a candidate goes; undefined when it stays. */
interface Way {
  readonly via: "emptiness" | "consolidation";
  readonly validateAfterMs: number;
}

function wayOf(candidate: Candidate, nowMs: number): Way | undefined {
  const { pool, claim, generation, reschedulablePods } = candidate;
  const { policy, consolidateAfter } = pool.disruption;
  if (reschedulablePods.length > 0 || pool.replicas !== undefined) return undefined;
  if (policy === "none" || consolidateAfter === "Never") return undefined;
  if (generation === "v1") {
    if (!isQuiet(candidate, nowMs)) return undefined;
    return { via: "emptiness", validateAfterMs: VALIDATION_MS };
  }
  if (policy !== "WhenEmpty") {
    if (candidate.doNotConsolidate) return undefined;
    return { via: "consolidation", validateAfterMs: VALIDATION_MS };
  }
  const empty = condition(claim, "Empty");
  const sinceMs = fromRfc3339(empty?.lastTransitionTime);
  if (empty?.status !== "True" || sinceMs === undefined) return undefined;
  if (nowMs - sinceMs < consolidateAfter) return undefined;
  return { via: "emptiness", validateAfterMs: 0 };
}

/** For each generation and way its own, for its words and its wait are the command's; of so many nodes at the most. */
function commands({
  nowMs,
  candidates,
  allowances,
}: Pick<MethodInput, "nowMs" | "candidates" | "allowances">): readonly Command[] {
  const budgets = budgetCounter(allowances);
  const groups = new Map<string, { way: Way; candidates: Candidate[] }>();
  // Few of a large cluster: only these are put in order.
  const going = candidates.flatMap((candidate) => {
    const way = wayOf(candidate, nowMs);
    return way === undefined ? [] : [{ candidate, way }];
  });
  for (const { candidate, way } of going.sort((a, b) => bySavings(a.candidate, b.candidate))) {
    if (!budgets.take(candidate)) continue;
    const key = `${candidate.generation}/${way.via}`;
    const group = groups.get(key) ?? { way, candidates: [] };
    group.candidates.push(candidate);
    groups.set(key, group);
  }
  return [...groups.keys()].sort().flatMap((key) => {
    const { way, candidates: chosen } = groups.get(key) as { way: Way; candidates: Candidate[] };
    return inCommands(chosen).map((going) => commandOf(way, going));
  });
}

/** `candidates`: at least one, all of one generation. */
function commandOf({ via, validateAfterMs }: Way, candidates: readonly Candidate[]): Command {
  return {
    reason: "Empty",
    consolidationType: "empty",
    via,
    generation: (candidates[0] as Candidate).generation,
    candidates,
    replacements: [],
    targets: [],
    validateAfterMs,
  };
}

/** Keeps the nodes that are still empty and still allowed. */
function validate(command: Command, input: MethodInput): Command | Rejection {
  const names = new Set(command.candidates.map(({ node }) => node.name));
  const still = input.candidates.filter(({ node }) => names.has(node.name));
  const again = commands({ ...input, candidates: still }).find(
    ({ generation, via }) => generation === command.generation && via === command.via,
  );
  return again === undefined ? "churn" : { ...again, validateAfterMs: 0 };
}
