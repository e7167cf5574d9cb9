/**
 * The acceptance rule: the conditions under which one plan of a batch replaces another one. Each plan source and each
 * improvement states how much its plans must save, and whether they may strand more pods (stranding.ts).
 */
import type { Steps } from "../../base/steps.ts";
import { rankOf } from "../provisioning/pools/rank.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import type { Batch } from "../provisioning/solve.ts";
import { priceMicroUsd } from "./plan-price.ts";
import type { PlannerOptions } from "./planner-options.ts";
import { strandsMore } from "./stranding.ts";

/** The conditions that a plan must meet to replace another one, by name. They are checked in this order. */
export const CONDITIONS = {
  costsLess: "Its new nodes cost less per hour.",
  savesEnough:
    "It saves at least the share in the next table. Each additional node adds `--planner-node-cost` to its price, each node less subtracts it.",
  relaxesNoMoreMinValues: "It has no more nodes that ignore minValues than the other plan.",
  placesNoPodLess: "It leaves no pod without a place that has one in the other plan.",
  keepsPoolWeights:
    "NodePools of higher weight get no fewer pods. Counted for each weight: the pods on existing nodes and on NodePools of this weight or more.",
  strandsNoMorePods:
    "kube-scheduler may bind a pod to the room planned for another pod, which then needs one more node. The plan has no more nodes where this may happen than the other plan, or it saves more than those further nodes would cost.",
} as const;

export type ConditionName = keyof typeof CONDITIONS;

/** The shares of the replaced plan's price that a rule may require a plan to save. */
export const SAVINGS = {
  anything: "any amount",
  setting: "`--planner-min-saving`",
} as const;

/** Conditions for the plans of one source or improvement. */
export interface AcceptanceRule {
  readonly saves: keyof typeof SAVINGS;
  readonly strandsNoMorePods: boolean;
  /** Whether a plan that places more pods, and every pod that `known` places, replaces it at any price. */
  readonly mayPlaceMore: boolean;
}

/** The first condition that the plan `found` fails. Undefined: it fails none, so it replaces the plan `known`. */
export function* firstFailure(
  batch: Batch,
  found: SchedulingResult,
  known: SchedulingResult,
  rule: AcceptanceRule,
  options: PlannerOptions,
): Steps<ConditionName | undefined> {
  if (rule.mayPlaceMore && placesMore(found, known)) return undefined;
  const failed = failureByPrice(found, known, minSavingOf(rule, options), options);
  if (failed !== undefined || !rule.strandsNoMorePods) return failed;
  return (yield* strandsMore(batch, found, known, options)) ? "strandsNoMorePods" : undefined;
}

/** The share of the known plan's price that a plan must save under this rule. Exported for tests. */
export function minSavingOf(
  { saves }: Pick<AcceptanceRule, "saves">,
  { minSaving }: PlannerOptions,
): number {
  return saves === "anything" ? 0 : minSaving;
}

/** Like {@link firstFailure}, but does not check stranded pods. `minSaving`: a share of the price of `known`. */
export function failureByPrice(
  found: SchedulingResult,
  known: SchedulingResult,
  minSaving: number,
  { nodeMicroUsdPerHour }: Pick<PlannerOptions, "nodeMicroUsdPerHour">,
): ConditionName | undefined {
  const price = priceMicroUsd(found);
  const knownPrice = priceMicroUsd(known);
  // The next check alone would accept a more expensive plan with fewer nodes, because each node saved counts as money.
  if (price >= knownPrice) return "costsLess";
  const nodeCost = (found.newClaims.length - known.newClaims.length) * nodeMicroUsdPerHour;
  if (price + nodeCost > knownPrice * (1 - minSaving)) return "savesEnough";
  if (countRelaxed(found) > countRelaxed(known)) return "relaxesNoMoreMinValues";
  if (!placesNoPodLess(found, known)) return "placesNoPodLess";
  return keepsPoolWeights(found, known) ? undefined : "keepsPoolWeights";
}

/**
 * Upstream uses a NodePool of lower weight only for pods that no heavier NodePool can serve. So for each weight, the
 * NodePools of that weight or more must get at least as many pods as in `known`.
 */
function keepsPoolWeights(found: SchedulingResult, known: SchedulingResult): boolean {
  const ranks = new Set([...found.newClaims, ...known.newClaims].map(({ pool }) => rankOf(pool)));
  if (ranks.size <= 1) return true;
  return [...ranks].every((rank) => podsFrom(rank, found) >= podsFrom(rank, known));
}

/** The number of pods on existing nodes, and on new nodes of pools of this rank or a higher one. */
function podsFrom(rank: number, { newClaims, existing }: SchedulingResult): number {
  const high = newClaims.filter(({ pool }) => rankOf(pool) >= rank);
  return [...high, ...existing].reduce((sum, { pods }) => sum + pods.length, 0);
}

/** Whether `found` gives a place to more pods, and to each pod that has one in `known`. */
export function placesMore(found: SchedulingResult, known: SchedulingResult): boolean {
  return found.unschedulable.length < known.unschedulable.length && placesNoPodLess(found, known);
}

function placesNoPodLess(found: SchedulingResult, known: SchedulingResult): boolean {
  if (found.unschedulable.length > known.unschedulable.length) return false;
  const pendingBefore = new Set(known.unschedulable.map(({ pod }) => pod));
  return found.unschedulable.every(({ pod }) => pendingBefore.has(pod));
}

function countRelaxed({ newClaims }: SchedulingResult): number {
  return newClaims.filter(({ minValuesRelaxed }) => minValuesRelaxed).length;
}
