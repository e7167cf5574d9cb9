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
import type { Round } from "../round.ts";
import { VALIDATION_MS } from "../validation.ts";
import {
  budgetCounter,
  inCommands,
  LOOKED_AT_PER_STEP,
  type Method,
  type Rejection,
} from "./method.ts";

export const emptiness: Method = {
  name: "emptiness",
  reason: "Empty",
  consolidationType: "empty",
  disruptionClass: "graceful",
  costly: false,
  waits: false,
  isEligible: (candidate, nowMs) => wayOf(candidate, nowMs) !== undefined,
  *propose(round) {
    const { nowMs } = round;
    const going = (one: Candidate) => wayOf(one, nowMs) !== undefined;
    const empty = yield* filterInSteps(round.candidates, LOOKED_AT_PER_STEP, going);
    const candidates = empty.filter((one) => !round.hostsBufferPods(one));
    const remarks = empty.filter(round.hostsBufferPods).map((candidate) => ({
      candidate,
      about: "unconsolidatable" as const,
      message: bufferRemark(candidate),
    }));
    return { commands: commands({ ...round, candidates }), remarks };
  },
  validate,
};

function bufferRemark({ node }: Candidate): string {
  return `Node "${node.name}" has buffer pods`;
}

/** How an empty node goes: the wording of its command, and how long that waits for validation. */
interface Way {
  readonly via: "emptiness" | "consolidation";
  readonly validateAfterMs: number;
}

/** Undefined: the node stays for now. */
function wayOf(candidate: Candidate, nowMs: number): Way | undefined {
  const { pool, claim, generation, reschedulablePods } = candidate;
  const { policy, consolidateAfter } = pool.disruption;
  if (reschedulablePods.length > 0 || pool.replicas !== undefined) return undefined;
  if (policy === "none" || consolidateAfter === "Never") return undefined;
  if (generation === "v1") {
    return isQuiet(candidate, nowMs) ? wayOfEmpty(candidate) : undefined;
  }
  if (policy !== "WhenEmpty") {
    return candidate.doNotConsolidate ? undefined : wayOfEmpty(candidate);
  }
  const empty = condition(claim, "Empty");
  const sinceMs = fromRfc3339(empty?.lastTransitionTime);
  if (empty?.status !== "True" || sinceMs === undefined) return undefined;
  if (nowMs - sinceMs < consolidateAfter) return undefined;
  return wayOfEmpty(candidate);
}

/** Older generations with WhenEmpty do not validate: the claim's condition `Empty` has waited long enough. */
function wayOfEmpty({ generation, pool }: Pick<Candidate, "generation" | "pool">): Way {
  if (generation === "v1") return { via: "emptiness", validateAfterMs: VALIDATION_MS };
  return pool.disruption.policy === "WhenEmpty"
    ? { via: "emptiness", validateAfterMs: 0 }
    : { via: "consolidation", validateAfterMs: VALIDATION_MS };
}

/** The command that would take this empty node away alone, if nothing kept it. */
export function emptyCommand(candidate: Candidate): Command {
  return commandOf(wayOfEmpty(candidate), [candidate]);
}

/** For each generation and way its own, for its words and its wait are the command's; of so many nodes at the most. */
function commands({
  nowMs,
  candidates,
  allowances,
}: Pick<Round, "nowMs" | "candidates" | "allowances">): readonly Command[] {
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
function validate(command: Command, round: Round): Command | Rejection {
  const names = new Set(command.candidates.map(({ node }) => node.name));
  const still = round.candidates
    .filter(({ node }) => names.has(node.name))
    .filter((one) => !round.hostsBufferPods(one));
  const again = commands({ ...round, candidates: still }).find(
    ({ generation, via }) => generation === command.generation && via === command.via,
  );
  return again === undefined ? "churn" : { ...again, validateAfterMs: 0 };
}
