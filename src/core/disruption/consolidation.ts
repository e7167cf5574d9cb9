/**
 * The common part of single-node consolidation, multi-node consolidation and repack: which nodes may be consolidated,
 * and whether their pods fit on existing nodes or on cheaper new nodes.
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
import { atOnce, type Steps } from "../../base/steps.ts";
import { priceMicroUsd } from "../planner/plan-price.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { quietFromMs } from "../state/quiet.ts";
import { describeVerdict, weigh } from "./balanced.ts";
import { type Candidate, isEmpty, priceOfAll } from "./candidates.ts";
import { cheaperPlan, NOT_CHEAPER, withoutSameTypes } from "./cheaper.ts";
import type { BalancedVerdict, Command } from "./command.ts";
import { budgetCounter, evictionCounter } from "./counters.ts";
import type { ValidationFailure } from "./methods/method.ts";
import type { Round, RoundHoldOffs } from "./round.ts";
import type { Simulation } from "./simulate.ts";
import { VALIDATION_MS } from "./validation.ts";

/** The most replacements of one command: of v1 nodes, by repack, and of older nodes, where upstream allowed one. */
const MOST_REPLACEMENTS = { v1: 10, repack: 50, older: 1 } as const;
/**
 * The most replacements if the setting `splits` is off, as in upstream (pkg/controllers/disruption/consolidation.go).
 */
const MOST_WITHOUT_SPLITS = 1;

/** Why the node cannot be consolidated as long as its NodePool and labels do not change. Undefined: it can be. */
export function unconsolidatable(candidate: Candidate): string | undefined {
  const { pool } = candidate;
  return (
    notKnown(candidate) ??
    consolidationOff(pool) ??
    keptByAnnotation(candidate) ??
    onlyWhenEmpty(pool)
  );
}

/** All reasons of {@link unconsolidatable}: those of the pool, and those of the node itself. */
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
  // A Provisioner has no consolidation policy. If it sets ttlSecondsAfterEmpty, consolidation is off.
  const isAlphas = generation === "alpha" && policy === "WhenEmpty";
  if (policy !== "none" && consolidateAfter !== "Never" && !isAlphas) return undefined;
  return `${vocabulary(generation).poolKind} "${name}" has consolidation disabled`;
}

/** The message if the annotation do-not-consolidate blocks the node. Undefined: the node does not have it. */
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

/** Whether the node has pods and may be consolidated now. Nodes of v1 must also be quiet ({@link isQuiet}). */
export function isConsolidatable(candidate: Candidate, nowMs: number): boolean {
  return isWithinPolicy(candidate) && (candidate.generation !== "v1" || isQuiet(candidate, nowMs));
}

/** Whether a v1 node with pods is not quiet now, but will be at `atMs` and may be consolidated then. */
export function isConsolidatableBy(candidate: Candidate, nowMs: number, atMs: number): boolean {
  const { pool, claim, generation } = candidate;
  if (generation !== "v1" || isQuiet(candidate, nowMs) || !isWithinPolicy(candidate)) return false;
  return (quietFromMs(claim, pool) ?? Number.POSITIVE_INFINITY) <= atMs;
}

function isWithinPolicy(candidate: Candidate): boolean {
  if (candidate.pool.replicas !== undefined || isEmpty(candidate)) return false;
  return unconsolidatable(candidate) === undefined;
}

/**
 * Whether the v1 node is quiet: no pod was added or removed for `consolidateAfter`. The condition may be out of date,
 * because its controller waits for the cloud. So the time of the last pod event is checked, too.
 */
export function isQuiet(
  { claim, pool }: Pick<Candidate, "claim" | "pool">,
  nowMs: number,
): boolean {
  return isTrue(claim, "Consolidatable") && (quietFromMs(claim, pool) ?? nowMs) <= nowMs;
}

/**
 * The kinds of reasons why there is no command:
 * - `noPlace`: a pod has no other place.
 * - `noGain`: no replacement is cheaper by enough.
 * - `tooMany`: it would need more replacements than are allowed.
 * - `backingOff`: the last replacement of the pool failed.
 * - `restraint`: a hold-off after earlier commands.
 * - `balanced`: a pool with the policy Balanced refuses it.
 */
export type NoCommandKind =
  | "noPlace"
  | "noGain"
  | "tooMany"
  | "backingOff"
  | "restraint"
  | "balanced";

/** The reason why there is no command. */
export interface NoCommand {
  readonly kind: NoCommandKind;
  readonly message: string;
  /** The verdicts that refuse the command. Only set for `balanced`. */
  readonly refused?: readonly BalancedVerdict[];
  /** When the reason ends by itself. Absent: never, or that is not known. */
  readonly untilMs?: number;
}

/** A command that no pool with the policy Balanced refuses. */
type ApprovedCommand = Command & { readonly verdicts: readonly BalancedVerdict[] };

/**
 * The command that removes or replaces these nodes, or why there is none. `candidates`: one or more of one API version.
 */
export function* consolidateInSteps(
  candidates: readonly Candidate[],
  round: Round,
): Steps<ApprovedCommand | NoCommand> {
  const found = yield* cheapestCommand(candidates, round);
  return "message" in found ? found : unlessHeldBack(found, round);
}

/** Like {@link consolidateInSteps}, in one step, for one node: the pods of many take long. */
export function consolidateOne(candidate: Candidate, round: Round): ApprovedCommand | NoCommand {
  return atOnce(consolidateInSteps([candidate], round));
}

/** The command, unless a hold-off or a pool with the policy Balanced prevents it. */
export function unlessHeldBack(found: Command, round: Round): ApprovedCommand | NoCommand {
  const holdOff = round.holdOffs.of(found);
  if (holdOff !== undefined) return { kind: "restraint", ...holdOff };
  const verdicts = weigh(found, round.facts.balancedTotals());
  const refused = verdicts.filter(({ approved }) => !approved);
  const [first] = refused;
  if (first === undefined) return { ...found, verdicts };
  return {
    kind: "balanced",
    message: `NodePool "${first.pool.name}" has consolidation policy Balanced, ${describeVerdict(first)}`,
    refused,
  };
}

/**
 * Plans the pods as provisioning would. If the new node would not be cheaper, and a lower bound leaves hope, also tries
 * to replace a large node by several smaller ones.
 */
function* cheapestCommand(
  candidates: readonly Candidate[],
  round: Round,
): Steps<Command | NoCommand> {
  const { simulator } = round.facts;
  const simulation = yield* simulator.withoutInSteps(candidates);
  const planned = commandFrom({ candidates, simulation }, round);
  if (!("message" in planned) || candidates[0]?.generation !== "v1") return planned;
  if (simulation.unquiet.length > 0) return (yield* ontoQuietNodes(candidates, round)) ?? planned;
  const before = priceOfAll(candidates);
  if (!round.settings.splits) return planned;
  if (planned.message !== NOT_CHEAPER || simulator.leastPriceMicroUsd(candidates) >= before)
    return planned;
  const terms = { belowMicroUsd: before };
  const smaller = yield* simulator.withoutInSteps(candidates, terms);
  const split = commandFrom({ candidates, simulation: smaller }, round);
  return "message" in split ? planned : { ...split, terms };
}

/** A command that moves all pods to existing quiet nodes. Launches no node, because other nodes will soon be quiet. */
function* ontoQuietNodes(
  candidates: readonly Candidate[],
  round: Round,
): Steps<Command | undefined> {
  const { simulator } = round.facts;
  const terms = { closed: simulator.unquietNodes() };
  const simulation = yield* simulator.withoutInSteps(candidates, terms);
  if (simulation.replacements.length > 0) return undefined;
  const command = commandFrom({ candidates, simulation }, round);
  return "message" in command ? undefined : { ...command, terms };
}

/** Why no replacement is launched now: the last one of these pools failed. Undefined: no pool has such a back-off. */
export function replacementBackOff(
  pools: readonly Pick<Pool, "id" | "name">[],
  { backingOff }: Pick<RoundHoldOffs, "backingOff">,
): NoCommand | undefined {
  const ends = pools.map(({ id }) => backingOff.get(id) ?? 0);
  const failed = pools.find(({ id }) => backingOff.has(id));
  if (failed === undefined) return undefined;
  const message = `no replacement is launched from nodepool "${failed.name}" for a while, because the last one failed`;
  return { kind: "backingOff", message, untilMs: Math.max(...ends) };
}

interface Simulated {
  readonly candidates: readonly Candidate[];
  readonly simulation: Simulation;
  /** Whether repack made the plan. It may have more replacements, and replacements of the removed instance types. */
  readonly isPacked?: boolean;
}

/** The command for a simulated plan, if it is cheaper whichever offerings the cloud launches. */
export function commandFrom(
  { candidates, simulation, isPacked = false }: Simulated,
  { settings: { forSpot, splits, nodeMicroUsdPerHour }, holdOffs }: Round,
): Command | NoCommand {
  const { replacements, targets, placements, unplaced, lostRoom, unquiet } = simulation;
  if (unplaced.length > 0)
    return { kind: "noPlace", message: `Not all pods would schedule, ${unplaced.join("; ")}` };
  // If a buffer lost room, provisioning would launch a new node for it immediately.
  if (lostRoom.length > 0)
    return {
      kind: "noPlace",
      message: `CapacityBuffer "${lostRoom[0]}" would have less room`,
    };
  // A target that is not quiet may be removed soon itself, and the pods would move twice.
  if (unquiet.length > 0)
    return {
      kind: "noPlace",
      message: `Pods would move to node "${unquiet[0]}", where pods came or went within its NodePool's consolidateAfter`,
    };
  const { generation } = candidates[0] as Candidate;
  const limit = MOST_REPLACEMENTS[isPacked ? "repack" : generation === "v1" ? "v1" : "older"];
  const most = splits || isPacked ? limit : MOST_WITHOUT_SPLITS;
  if (replacements.length > most) return tooMany(replacements.length);
  const jobPod = replacements.length > 1 ? jobPodOn(candidates) : undefined;
  if (jobPod !== undefined) return losesWork(jobPod, replacements.length);
  const backOff = replacementBackOff(
    replacements.map(({ pool }) => pool),
    holdOffs,
  );
  if (backOff !== undefined) return backOff;
  // Each additional node costs as much as in the planner, so a split is never a plan that the planner refused.
  const additional = Math.max(0, replacements.length - candidates.length);
  const before = priceOfAll(candidates) - additional * nodeMicroUsdPerHour;
  const after = priceMicroUsd({ newClaims: replacements });
  if (replacements.length > 1 && after >= before) return tooMany(replacements.length);
  // On-demand may replace spot only in a usual consolidation: repack computes savings with spot prices, and older API
  // versions only delete spot nodes.
  const noOnDemand = isPacked || generation !== "v1";
  const instead = forSpot === "onDemand" && noOnDemand ? "nothing" : forSpot;
  const plans: PlannedClaim[] = [];
  for (const plan of replacements) {
    // Each replacement must cost less than its share of the removed price, so all of them together are cheaper.
    const belowMicroUsd =
      replacements.length === 1
        ? before
        : Math.floor((before * plan.cheapest.priceMicroUsd) / after);
    const cheaper = cheaperPlan(plan, { candidates, belowMicroUsd, forSpot: instead });
    if ("message" in cheaper) return { kind: "noGain", ...cheaper };
    const mayBeSameType = candidates.length === 1 || isPacked;
    const fresh = mayBeSameType ? cheaper : withoutSameTypes(cheaper.plan, candidates);
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

function tooMany(replacements: number): NoCommand {
  return {
    kind: "tooMany",
    message: `Can't remove without creating ${replacements} candidates`,
  };
}

/**
 * A pod of a Job on these nodes, because a Job loses its work when its pod is evicted. As in upstream, such nodes are
 * replaced by at most one node.
 */
export function jobPodOn(candidates: readonly Candidate[]): Pod | undefined {
  for (const { reschedulablePods } of candidates) {
    const found = reschedulablePods.find((pod) => controllerOf(pod)?.kind === "Job");
    if (found !== undefined) return found;
  }
  return undefined;
}

function losesWork(pod: Pod, replacements: number): NoCommand {
  return {
    kind: "tooMany",
    message: `Can't replace with ${replacements} nodes, a Job would lose the work of its pod (Pod=${keyOf(pod)})`,
  };
}

/**
 * Checks a command again on fresh facts. Its nodes must still be consolidatable, and budgets must allow all of them.
 * Their pods must need as many replacements as planned, of the planned instance types.
 */
export function* validateConsolidation(
  command: Command,
  round: Round,
): Steps<Command | ValidationFailure> {
  const candidates = candidatesNow(command, round);
  if (typeof candidates === "string") return candidates;
  yield;
  const simulation = yield* round.facts.simulator.withoutInSteps(candidates, command.terms);
  const { replacements, targets, placements, unplaced, lostRoom, unquiet } = simulation;
  if (
    unplaced.length > 0 ||
    lostRoom.length > 0 ||
    replacements.length !== command.replacements.length
  )
    return "scheduling";
  if (unquiet.length > 0) return "churn";
  for (const [index, { instanceTypes }] of command.replacements.entries()) {
    const offered = new Set(replacements[index]?.instanceTypes.map(({ name }) => name));
    if (!instanceTypes.every(({ name }) => offered.has(name))) return "scheduling";
  }
  return { ...command, candidates, targets, placements, validateAfterMs: 0 };
}

/** The command's nodes as they are now. Or the failure, if they may no longer be disrupted together. */
export function candidatesNow(
  command: Command,
  { nowMs, facts, budgets }: Round,
): readonly Candidate[] | ValidationFailure {
  const names = new Set(command.candidates.map(({ node }) => node.name));
  const still = facts.candidates.filter(
    (one) => names.has(one.node.name) && isConsolidatable(one, nowMs),
  );
  if (still.length < names.size) return "churn";
  if (command.generation === "alpha" && facts.alphaBusy) return "budget";
  const counter = budgetCounter(budgets.allowances);
  if (!still.every((one) => counter.take(one))) return "budget";
  // A PodDisruptionBudget may now allow fewer evictions than all these nodes need.
  const evictions = evictionCounter(budgets.pdbs);
  return still.every((one) => evictions.take([one])) ? still : "churn";
}
