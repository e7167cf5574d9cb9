/**
 * Consolidation, the part that one node and several have in common: who may be consolidated at all, and
 * whether a set of nodes can go without a replacement or for others that are cheaper.
 * upstream: pkg/controllers/disruption/consolidation.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { isTrue } from "../../apis/karpenter/conditions.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  DO_NOT_CONSOLIDATE_ANNOTATION_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import { controllerOf, keyOf } from "../../apis/meta.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { quietFromMs } from "../state/quiet.ts";
import { describeVerdict, weigh } from "./balanced.ts";
import { type Candidate, priceOfAll } from "./candidates.ts";
import { cheaperPlan, NOT_CHEAPER, withoutSameTypes } from "./cheaper.ts";
import type { Command, Verdict } from "./command.ts";
import { guardCounter } from "./guards.ts";
import { budgetCounter, type Rejection } from "./methods/method.ts";
import type { Round } from "./round.ts";
import type { Simulation } from "./simulate.ts";
import { VALIDATION_MS } from "./validation.ts";

/** Most nodes that may come in the place of others in one move. Older generations know of one only. */
const MOST_REPLACEMENTS = 10;
const MOST_PACKED = 50;

/** Why a node is not consolidated whatever else is true; undefined when it may be. */
export function unconsolidatable(candidate: Candidate): string | undefined {
  const { pool } = candidate;
  return (
    notKnown(candidate) ??
    consolidationOff(pool) ??
    keptByAnnotation(candidate) ??
    onlyWhenEmpty(pool)
  );
}

/** All of that: what its pool says, and what the node says itself. */
export function refusalsOf(candidate: Candidate): {
  readonly pool: string | undefined;
  readonly node: readonly string[];
} {
  const { pool } = candidate;
  const node = [notKnown(candidate), keptByAnnotation(candidate)];
  return {
    pool: consolidationOff(pool) ?? onlyWhenEmpty(pool),
    node: node.filter((one) => one !== undefined),
  };
}

function notKnown({ node, instanceType }: Candidate): string | undefined {
  if (instanceType === undefined)
    return `Instance Type "${node.labels[INSTANCE_TYPE_LABEL_KEY] ?? ""}" not found`;
  for (const key of [CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY]) {
    if (node.labels[key] === undefined) return `Node does not have label "${key}"`;
  }
  return undefined;
}

function consolidationOff({ name, generation, disruption }: Pool): string | undefined {
  const { policy, consolidateAfter } = disruption;
  // A Provisioner knows no policies: ttlSecondsAfterEmpty is one way not to have consolidation enabled.
  const isAlphas = generation === "alpha" && policy === "WhenEmpty";
  if (policy !== "none" && consolidateAfter !== "Never" && !isAlphas) return undefined;
  return `${vocabulary(generation).poolKind} "${name}" has consolidation disabled`;
}

/** By a person, on the Node. */
export function keptByAnnotation({ doNotConsolidate }: Candidate): string | undefined {
  return doNotConsolidate
    ? `disruption is blocked through the "${DO_NOT_CONSOLIDATE_ANNOTATION_KEY}" annotation`
    : undefined;
}

function onlyWhenEmpty({ name, disruption: { policy } }: Pool): string | undefined {
  return policy === "WhenEmpty"
    ? `NodePool "${name}" has consolidation policy WhenEmpty, but node is not empty`
    : undefined;
}

/** Used nodes that may be consolidated now. v1 waits until nothing has happened there for a while. */
export function isConsolidatable(candidate: Candidate, nowMs: number): boolean {
  return isWithinPolicy(candidate) && (candidate.generation !== "v1" || isQuiet(candidate, nowMs));
}

/** Used nodes of v1 that may be consolidated at that moment, if nothing happens there, and may not now. */
export function isConsolidatableBy(candidate: Candidate, nowMs: number, atMs: number): boolean {
  const { pool, claim, generation } = candidate;
  if (generation !== "v1" || isQuiet(candidate, nowMs) || !isWithinPolicy(candidate)) return false;
  return (quietFromMs(claim, pool) ?? Number.POSITIVE_INFINITY) <= atMs;
}

function isWithinPolicy(candidate: Candidate): boolean {
  const { pool, reschedulablePods } = candidate;
  if (pool.replicas !== undefined || reschedulablePods.length === 0) return false;
  return unconsolidatable(candidate) === undefined;
}

/**
 * Whether nothing has happened on a node of v1 for as long as its pool asks for. Whoever takes the condition away may be
 * held up by a cloud that does not answer, so when something happened last is asked, too.
 */
export function isQuiet(
  { claim, pool }: Pick<Candidate, "claim" | "pool">,
  nowMs: number,
): boolean {
  return isTrue(claim, "Consolidatable") && (quietFromMs(claim, pool) ?? nowMs) <= nowMs;
}

/** What it is that speaks against a move. `noGain`: nothing that could come instead is cheaper enough. */
export type StayingKind =
  | "noPlace"
  | "noGain"
  | "tooMany"
  | "backingOff"
  | "restraint"
  | "balanced";

/** Why nodes stay; `verdicts` where it was their pools' policy that had the last word. */
export interface Staying {
  readonly kind: StayingKind;
  readonly message: string;
  readonly verdicts?: readonly Verdict[];
  /** When it ends by itself; absent: it does not, or nobody knows. */
  readonly untilMs?: number;
}

/** The command that takes these nodes away, or why there is none. All of one generation. */
export function consolidate(
  candidates: readonly Candidate[],
  round: Round,
): (Command & { readonly verdicts: readonly Verdict[] }) | Staying {
  const found = cheapestMove(candidates, round);
  return "message" in found ? found : weighed(found, round);
}

/** The command, unless what was done of late or the policy of a pool speaks against it. */
export function weighed(
  found: Command,
  round: Round,
): (Command & { readonly verdicts: readonly Verdict[] }) | Staying {
  const objection = round.objection(found);
  if (objection !== undefined) return { kind: "restraint", ...objection };
  const verdicts = weigh(found, round.balancedTotals());
  const refused = verdicts.find(({ approved }) => !approved);
  if (refused === undefined) return { ...found, verdicts };
  return {
    kind: "balanced",
    message: `NodePool "${refused.pool.name}" has consolidation policy Balanced, ${describeVerdict(refused)}`,
    verdicts,
  };
}

/**
 * As provisioning would plan it; and if that is no cheaper, with several smaller nodes in the place of a
 * large one, where their price could be less at all.
 */
function cheapestMove(candidates: readonly Candidate[], round: Round): Command | Staying {
  const { simulator } = round;
  const simulation = simulator.without(candidates);
  const move = asPlanned(candidates, simulation, round);
  if (!("message" in move) || candidates[0]?.generation !== "v1") return move;
  if (simulation.unsettled.length > 0) return aroundRestless(candidates, round) ?? move;
  const before = priceOfAll(candidates);
  if (move.message !== NOT_CHEAPER || simulator.leastPriceMicroUsd(candidates) >= before)
    return move;
  const supposing = { belowMicroUsd: before };
  const split = asPlanned(candidates, simulator.without(candidates, supposing), round);
  return "message" in split ? move : { ...split, supposing };
}

/** Onto nodes that have come to rest, if there is room on them: none is bought for lack of patience. */
function aroundRestless(candidates: readonly Candidate[], round: Round): Command | undefined {
  const supposing = { closed: round.simulator.restless() };
  const simulation = round.simulator.without(candidates, supposing);
  if (simulation.replacements.length > 0) return undefined;
  const move = asPlanned(candidates, simulation, round);
  return "message" in move ? undefined : { ...move, supposing };
}

/** Why nodes whose new ones are of that pool stay. */
export function lastFailed(poolName: string): string {
  return `the last replacement from ${poolName} failed, no other for a while`;
}

/** When new nodes may be asked for again, of all their pools. */
export function triedAgainMs(
  replacements: Command["replacements"],
  { backingOff }: Pick<Round, "backingOff">,
): number {
  return Math.max(...replacements.map(({ pool }) => backingOff.get(pool.id) ?? 0));
}

/**
 * The command that carries a simulation out, if that is cheaper whatever the cloud picks. `packed`: its new
 * nodes were chosen by price; there may be as many as go, and of the same types.
 */
export function asPlanned(
  candidates: readonly Candidate[],
  { replacements, targets, placements, homeless, unsettled }: Simulation,
  { forSpot, backingOff }: Round,
  packed = false,
): Command | Staying {
  if (homeless.length > 0)
    return { kind: "noPlace", message: `Not all pods would schedule, ${homeless.join("; ")}` };
  // It may be superfluous itself in a moment: a full node would be drained onto one that is to go.
  if (unsettled.length > 0)
    return {
      kind: "noPlace",
      message: `Pods would move to node "${unsettled[0]}", where pods came or went within its NodePool's consolidateAfter`,
    };
  const { generation } = candidates[0] as Candidate;
  const most = packed ? MOST_PACKED : generation === "v1" ? MOST_REPLACEMENTS : 1;
  if (replacements.length > most) return tooMany(replacements.length);
  const jobPod = replacements.length > 1 ? jobPodOn(candidates) : undefined;
  if (jobPod !== undefined) return losesWork(jobPod, replacements.length);
  if (replacements.some(({ pool }) => backingOff.has(pool.id)))
    return {
      kind: "backingOff",
      message: "Can't replace now, the last replacement failed",
      untilMs: triedAgainMs(replacements, { backingOff }),
    };
  const before = priceOfAll(candidates);
  const after = replacements.reduce((sum, { cheapest }) => sum + cheapest.priceMicroUsd, 0);
  if (replacements.length > 1 && after >= before) return tooMany(replacements.length);
  // Repack has chosen its machines by what they cost as spot; older generations only delete spot nodes.
  const noOnDemand = packed || generation !== "v1";
  const instead = forSpot === "onDemand" && noOnDemand ? "nothing" : forSpot;
  const plans: PlannedClaim[] = [];
  for (const plan of replacements) {
    // Each may cost its share of what is given up, so that all together are cheaper.
    const share =
      replacements.length === 1
        ? before
        : Math.floor((before * plan.cheapest.priceMicroUsd) / after);
    const cheaper = cheaperPlan(plan, candidates, share, instead);
    if ("message" in cheaper) return { kind: "noGain", ...cheaper };
    const isLike = candidates.length > 1 && !packed;
    const fresh = isLike ? withoutSameTypes(cheaper.plan, candidates) : cheaper;
    if ("message" in fresh) return { kind: "noGain", ...fresh };
    plans.push(fresh.plan);
  }
  return {
    reason: "Underutilized",
    consolidationType: candidates.length > 1 ? "multi" : "single",
    via: "consolidation",
    generation,
    candidates,
    replacements: plans,
    targets,
    placements,
    validateAfterMs: VALIDATION_MS,
  };
}

function tooMany(replacements: number): Staying {
  return {
    kind: "tooMany",
    message: `Can't remove without creating ${replacements} candidates`,
  };
}

/**
 * A pod of a Job on these nodes: the Job loses its work when the pod is evicted. Such nodes are consolidated as upstream
 * does it, without a replacement or for a single node. Undefined: there is none.
 */
export function jobPodOn(candidates: readonly Candidate[]): Pod | undefined {
  for (const { reschedulablePods } of candidates) {
    const found = reschedulablePods.find((pod) => controllerOf(pod)?.kind === "Job");
    if (found !== undefined) return found;
  }
  return undefined;
}

function losesWork(pod: Pod, replacements: number): Staying {
  return {
    kind: "tooMany",
    message: `Can't replace with ${replacements} nodes, a Job would lose the work of its pod (Pod=${keyOf(pod)})`,
  };
}

/**
 * Whether a command still holds on fresh facts: its nodes may still go, budgets have room for all of
 * them, and their pods would still do with the same.
 */
export function confirm(command: Command, round: Round): Command | Rejection {
  const still = stillThere(command, round);
  if (typeof still === "string") return still;
  const { replacements, targets, placements, homeless, unsettled } = round.simulator.without(
    still,
    command.supposing,
  );
  if (homeless.length > 0 || replacements.length !== command.replacements.length)
    return "scheduling";
  if (unsettled.length > 0) return "churn";
  for (const [index, { instanceTypes }] of command.replacements.entries()) {
    const offered = new Set(replacements[index]?.instanceTypes.map(({ name }) => name));
    if (!instanceTypes.every(({ name }) => offered.has(name))) return "scheduling";
  }
  return { ...command, candidates: still, targets, placements, validateAfterMs: 0 };
}

/** The command's nodes as they are now, all of them, if they may still go together. */
export function stillThere(command: Command, round: Round): readonly Candidate[] | Rejection {
  const names = new Set(command.candidates.map(({ node }) => node.name));
  const still = round.candidates.filter(
    (one) => names.has(one.node.name) && isConsolidatable(one, round.nowMs),
  );
  if (still.length < names.size) return "churn";
  if (command.generation === "alpha" && round.alphaBusy) return "budget";
  const budgets = budgetCounter(round.allowances);
  if (!still.every((one) => budgets.take(one))) return "budget";
  // Each may go by itself still; all together they may not, once a workload's budget allows less than it did.
  const guards = guardCounter(round.pdbs);
  return still.every((one) => guards.take(one.reschedulablePods)) ? still : "churn";
}
