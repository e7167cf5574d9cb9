/**
 * Removes nodes that run nothing but daemon pods, as many as budgets allow. The API versions differ:
 * - v1 waits for `consolidateAfter` (the condition Consolidatable), and validates after 15 s.
 * - v1alpha5 with `ttlSecondsAfterEmpty` and v1beta1 with WhenEmpty wait from the time of the condition Empty, and do
 *   not validate.
 * - v1alpha5 and v1beta1 with consolidation remove empty nodes without that wait, and validate after 15 s.
 * upstream: pkg/controllers/disruption/emptiness.go, and v0.31 emptynodeconsolidation
 */
import { condition } from "../../../apis/karpenter/conditions.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { filterInSteps, type Steps } from "../../../base/steps.ts";
import { compareText } from "../../../base/text-order.ts";
import { within } from "../../../base/within.ts";
import { bySavings, type Candidate, isEmpty } from "../candidates.ts";
import { type Command, removal } from "../command.ts";
import { isQuiet } from "../consolidation.ts";
import { budgetCounter } from "../counters.ts";
import type { Round } from "../round.ts";
import { VALIDATION_MS } from "../validation.ts";
import { inCommands, type Method, type ValidationFailure } from "./method.ts";

const EMPTY = { reason: "Empty", consolidationType: "empty" } as const;

export const emptiness: Method = {
  name: "emptiness",
  ...EMPTY,
  disruptionClass: "graceful",
  simulates: false,
  needsValidation: false,
  isEligible: (candidate, nowMs) => removalNow(candidate, nowMs) !== undefined,
  *propose(round) {
    const empty = yield* filterInSteps(
      round.facts.candidates,
      (one) => removalNow(one, round.nowMs) !== undefined,
    );
    const kept = empty.filter(({ keepsRoom }) => keepsRoom);
    const remarks = kept.map((candidate) => ({
      candidate,
      about: "unconsolidatable" as const,
      message: `Node "${candidate.node.name}" has buffer pods`,
    }));
    return { commands: commandsFor(empty.filter(isEmpty), round), remarks };
  },
  validate,
};

/**
 * The name of the method in messages, and the wait before validation. Both depend on the API version and the policy.
 */
interface RemovalKind {
  readonly via: "emptiness" | "consolidation";
  readonly validateAfterMs: number;
}

/** How the node is removed, if it has no pods and may be removed now. Undefined: it may not. */
function removalNow(candidate: Candidate, nowMs: number): RemovalKind | undefined {
  const { pool, claim, generation, reschedulablePods } = candidate;
  const { policy, consolidateAfter } = pool.disruption;
  if (reschedulablePods.length > 0 || pool.replicas !== undefined) return undefined;
  if (policy === "none" || consolidateAfter === "Never") return undefined;
  if (generation === "v1") {
    return isQuiet(candidate, nowMs) ? emptyRemoval(candidate) : undefined;
  }
  if (policy !== "WhenEmpty") {
    return candidate.doNotConsolidate ? undefined : emptyRemoval(candidate);
  }
  const empty = condition(claim, "Empty");
  const sinceMs = fromRfc3339(empty?.lastTransitionTime);
  if (empty?.status !== "True" || sinceMs === undefined) return undefined;
  if (nowMs - sinceMs < consolidateAfter) return undefined;
  return emptyRemoval(candidate);
}

function emptyRemoval({ generation, pool }: Pick<Candidate, "generation" | "pool">): RemovalKind {
  if (generation === "v1") return { via: "emptiness", validateAfterMs: VALIDATION_MS };
  return pool.disruption.policy === "WhenEmpty"
    ? { via: "emptiness", validateAfterMs: 0 }
    : { via: "consolidation", validateAfterMs: VALIDATION_MS };
}

/** The command that would remove this empty node alone, whatever blocks it now. */
export function emptyCommand(candidate: Candidate): Command {
  return removal([candidate], { ...EMPTY, ...emptyRemoval(candidate) });
}

/**
 * Commands for these nodes. Each API version and policy needs its own, because messages and wait belong to a command.
 */
function commandsFor(candidates: readonly Candidate[], round: Round): readonly Command[] {
  const budgets = budgetCounter(round.budgets.allowances);
  const groups = new Map<string, { kind: RemovalKind; candidates: Candidate[] }>();
  for (const candidate of candidates.toSorted(bySavings)) {
    const kind = removalNow(candidate, round.nowMs);
    if (kind === undefined || !budgets.take(candidate)) continue;
    const key = `${candidate.generation}/${kind.via}`;
    within(groups, key, () => ({ kind, candidates: [] })).candidates.push(candidate);
  }
  return [...groups]
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([, { kind, candidates: chosen }]) =>
      inCommands(chosen).map((some) => removal(some, { ...EMPTY, ...kind })),
    );
}

/** The command with those nodes that are still empty and that budgets still allow. */
function* validate(command: Command, round: Round): Steps<Command | ValidationFailure> {
  const names = new Set(command.candidates.map(({ node }) => node.name));
  const still = yield* filterInSteps(round.facts.candidates, ({ node }) => names.has(node.name));
  const again = commandsFor(still.filter(isEmpty), round).find(
    ({ generation, via }) => generation === command.generation && via === command.via,
  );
  return again === undefined ? "churn" : { ...again, validateAfterMs: 0 };
}
