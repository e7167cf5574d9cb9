/**
 * What consolidation of one node and of several have in common: which nodes may be consolidated at all, and whether
 * their pods fit without a replacement or on cheaper new nodes.
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
import type { Steps } from "../../base/steps.ts";
import { priceMicroUsd } from "../planner/plan-price.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { quietFromMs } from "../state/quiet.ts";
import { describeVerdict, weigh } from "./balanced.ts";
import { type Candidate, isEmpty, priceOfAll } from "./candidates.ts";
import { cheaperPlan, NOT_CHEAPER, withoutSameTypes } from "./cheaper.ts";
import type { BalancedVerdict, Command } from "./command.ts";
import { budgetCounter, evictionCounter } from "./counters.ts";
import type { ValidationFailure } from "./methods/method.ts";
import type { Round } from "./round.ts";
import type { Simulation } from "./simulate.ts";
import { VALIDATION_MS } from "./validation.ts";

/** Replacements of one command: v1, repack, and older generations as in upstream's versions of their time. */
const MOST_REPLACEMENTS = { v1: 10, repack: 50, older: 1 } as const;
/** The limit with the setting `splits` off, as upstream: pkg/controllers/disruption/consolidation.go. */
const MOST_WITHOUT_SPLITS = 1;

/** Why a node is never consolidated as its NodePool and its labels are now; undefined: it may be. */
export function unconsolidatable(candidate: Candidate): string | undefined {
  const { pool } = candidate;
  return (
    notKnown(candidate) ??
    consolidationOff(pool) ??
    keptByAnnotation(candidate) ??
    onlyWhenEmpty(pool)
  );
}

/** All reasons of {@link unconsolidatable}, those of the pool apart from those of the node. */
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
  // A Provisioner has no policy: with ttlSecondsAfterEmpty its consolidation is off.
  const isAlphas = generation === "alpha" && policy === "WhenEmpty";
  if (policy !== "none" && consolidateAfter !== "Never" && !isAlphas) return undefined;
  return `${vocabulary(generation).poolKind} "${name}" has consolidation disabled`;
}

/** Why the annotation do-not-consolidate keeps the node; undefined: it has none. */
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

/** Whether a used node may be consolidated now. v1 nodes must be quiet. */
export function isConsolidatable(candidate: Candidate, nowMs: number): boolean {
  return isWithinPolicy(candidate) && (candidate.generation !== "v1" || isQuiet(candidate, nowMs));
}

/** Whether a used v1 node may not be consolidated now but at `atMs`, if no pod comes or leaves until then. */
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
 * Whether no pod came to or left the v1 node for `consolidateAfter`. The time of the last pod event is checked beside
 * the condition Consolidatable, because the controller that removes the condition may wait for the cloud.
 */
export function isQuiet(
  { claim, pool }: Pick<Candidate, "claim" | "pool">,
  nowMs: number,
): boolean {
  return isTrue(claim, "Consolidatable") && (quietFromMs(claim, pool) ?? nowMs) <= nowMs;
}

/**
 * What keeps nodes from a command:
 * - `noPlace`: a pod has no place elsewhere.
 * - `noGain`: no replacement is cheaper by enough.
 * - `tooMany`: it needs more replacements than are allowed.
 * - `backingOff`: the last replacement of the pool failed.
 * - `restraint`: a hold-off after earlier commands.
 * - `balanced`: the policy Balanced of a pool.
 */
export type NoCommandKind =
  | "noPlace"
  | "noGain"
  | "tooMany"
  | "backingOff"
  | "restraint"
  | "balanced";

/** Why there is no command. */
export interface NoCommand {
  readonly kind: NoCommandKind;
  readonly message: string;
  /** The verdicts against it. Only set by `balanced`. */
  readonly refused?: readonly BalancedVerdict[];
  /** When the reason ends by itself; absent: never, or it is not known. */
  readonly untilMs?: number;
}

/** A command that no pool with the policy Balanced refuses. */
type ApprovedCommand = Command & { readonly verdicts: readonly BalancedVerdict[] };

/** The command that removes or replaces these nodes, or why there is none. All of one generation. */
export function consolidate(
  candidates: readonly Candidate[],
  round: Round,
): ApprovedCommand | NoCommand {
  const found = cheapestCommand(candidates, round);
  return "message" in found ? found : unlessHeldBack(found, round);
}

/** The command, unless a hold-off or a pool with the policy Balanced is against it. */
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
 * First as provisioning would plan the pods. If that is no cheaper, tries several smaller nodes in the place of a large
 * one, unless a lower bound shows that they cost too much.
 */
function cheapestCommand(candidates: readonly Candidate[], round: Round): Command | NoCommand {
  const { simulator } = round.facts;
  const simulation = simulator.without(candidates);
  const planned = commandFrom({ candidates, simulation }, round);
  if (!("message" in planned) || candidates[0]?.generation !== "v1") return planned;
  if (simulation.unquiet.length > 0) return ontoQuietNodes(candidates, round) ?? planned;
  const before = priceOfAll(candidates);
  if (!round.settings.splits) return planned;
  if (planned.message !== NOT_CHEAPER || simulator.leastPriceMicroUsd(candidates) >= before)
    return planned;
  const terms = { belowMicroUsd: before };
  const split = commandFrom(
    { candidates, simulation: simulator.without(candidates, terms) },
    round,
  );
  return "message" in split ? planned : { ...split, terms };
}

/** Moves the pods to quiet nodes only, if there is room on them. Nothing is launched instead of a wait. */
function ontoQuietNodes(candidates: readonly Candidate[], round: Round): Command | undefined {
  const { simulator } = round.facts;
  const terms = { closed: simulator.unquietNodes() };
  const simulation = simulator.without(candidates, terms);
  if (simulation.replacements.length > 0) return undefined;
  const command = commandFrom({ candidates, simulation }, round);
  return "message" in command ? undefined : { ...command, terms };
}

/** Why no replacement from this pool is launched. */
export function replacementFailedMessage(poolName: string): string {
  return `the last replacement from ${poolName} failed, no other for a while`;
}

/** When replacements may be launched again in all of their pools. `backingOff`: as in `RoundHoldOffs`. */
export function backOffEndsMs(
  replacements: Command["replacements"],
  backingOff: ReadonlyMap<string, number>,
): number {
  return Math.max(...replacements.map(({ pool }) => backingOff.get(pool.id) ?? 0));
}

/** Nodes that are removed, and what was planned for their pods. */
interface Simulated {
  readonly candidates: readonly Candidate[];
  readonly simulation: Simulation;
  /** Set by repack, which chooses machines by price. More replacements are then allowed, also of the removed types. */
  readonly isPacked?: boolean;
}

/** The command that carries a simulation out, if it is cheaper with every offering that the cloud may launch. */
export function commandFrom(
  { candidates, simulation, isPacked = false }: Simulated,
  { settings: { forSpot, splits }, holdOffs: { backingOff } }: Round,
): Command | NoCommand {
  const { replacements, targets, placements, unplaced, lostRoom, unquiet } = simulation;
  if (unplaced.length > 0)
    return { kind: "noPlace", message: `Not all pods would schedule, ${unplaced.join("; ")}` };
  // Otherwise a new node would be launched immediately, for the CapacityBuffer.
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
  if (replacements.some(({ pool }) => backingOff.has(pool.id)))
    return {
      kind: "backingOff",
      message: "Can't replace now, the last replacement failed",
      untilMs: backOffEndsMs(replacements, backingOff),
    };
  const before = priceOfAll(candidates);
  const after = priceMicroUsd({ newClaims: replacements });
  if (replacements.length > 1 && after >= before) return tooMany(replacements.length);
  // With on-demand replacements, repack would not save what it computed with spot prices. Older generations only delete
  // spot nodes.
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
 * A pod of a Job on these nodes; undefined: there is none. The Job loses its work when the pod is evicted, so such
 * nodes are consolidated only as upstream does: without a replacement, or for a single node.
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
 * Whether a command still holds on fresh facts: its nodes may still be disrupted, budgets allow all of them, and their
 * pods need no more than the planned replacements.
 */
export function* validateConsolidation(
  command: Command,
  round: Round,
): Steps<Command | ValidationFailure> {
  const candidates = candidatesNow(command, round);
  if (typeof candidates === "string") return candidates;
  yield;
  const simulation = round.facts.simulator.without(candidates, command.terms);
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

/** The command's nodes as they are now, if all of them may still be disrupted together. */
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
  // A PodDisruptionBudget may allow less by now than all nodes together need.
  const evictions = evictionCounter(budgets.pdbs);
  return still.every((one) => evictions.take([one])) ? still : "churn";
}
