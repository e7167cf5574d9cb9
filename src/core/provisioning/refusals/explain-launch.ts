/**
 * The last stages of an explanation: whether a new node can be launched in the domains that all topology rules allow.
 * The node may lack devices or values for minValues, or need a reservation that other planned nodes hold.
 */
import type { DeviceNeeds } from "../../devices/needs.ts";
import { type Bits, intersectionOf, isEmptyBits, noBits } from "../../scheduling/bits.ts";
import type { Requirement } from "../../scheduling/requirement.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import { tooFewValues } from "../feasibility/type-stages.ts";
import { ALL_PROMISED } from "../nodes/reservations.ts";
import type { PlanningContext } from "../nodes/trial.ts";
import type { Template } from "../pools/pool-template.ts";
import type { RejectionReason } from "../result.ts";
import { type Rejected, withFallen } from "./filter-types.ts";

export interface LaunchRefusal {
  readonly text: string;
  /** A clearer message of karpenter-ts, if the text, which is upstream's, is vague. */
  readonly why?: string;
  readonly rejected: Rejected;
  readonly otherwise?: readonly RejectionReason[];
  readonly promised?: true;
  /** Whether no stage refuses the pod, so that a new node could take it. */
  readonly fits?: true;
}

/**
 * The refusal after all stages before reservations and minValues accepted the pod: by one of these two, or because the
 * node has no instance type in any combination of topology domains. `choices`: the new node in each combination.
 */
export function byLaunch(
  choices: readonly DomainChoice[],
  template: Template,
  context: PlanningContext,
  { types, rejected }: { readonly types: Bits; readonly rejected: Rejected },
): LaunchRefusal {
  const fallen = (reason: RejectionReason) =>
    withFallen(template.table, rejected, reason, [types, noBits(template.table.size)]);
  const waiting = choices.filter((choice) => isPromised(choice, template, context));
  const promised = waiting.length > 0 ? { promised: true as const } : {};
  if (waiting.length > 0 && waiting.length === choices.length) {
    const why = "every reservation that would do is full, or promised to other pods of the plan";
    const byOffering = fallen("offerings");
    return { text: ALL_PROMISED, why, rejected: byOffering, ...promised };
  }
  const short = choices
    .filter((choice) => !waiting.includes(choice))
    .map((choice) => fewerThanAsked(choice, template, context))
    .find((keys) => keys.length > 0);
  if (short !== undefined) {
    const keys = short.map(({ key }) => key).sort();
    const text = `minValues requirement is not met for label(s) (label(s)=[${keys.join(" ")}])`;
    const why = short
      .map(({ key, minValues }) => `fewer than ${minValues} values of ${key} are left (minValues)`)
      .join("; ");
    return { text, why, rejected: fallen("minValues"), ...promised };
  }
  const text = "no combination of topology domains has an instance type left";
  return { text, why: text, rejected: fallen("topology"), ...promised };
}

/** A new node in one combination of domains that all topology rules allow: its requirements and instance types. */
export interface DomainChoice {
  readonly set: SetId;
  readonly types: Bits;
}

/** The types of the node that can be launched without a reservation. */
function openTo({ set, types }: DomainChoice, { table }: Template): Bits {
  return table.offerings.hasReserved ? intersectionOf(types, table.open(set)) : types;
}

/** Whether the node can be launched only into reservations, and these have enough values for minValues. */
function isPromised(choice: DomainChoice, template: Template, context: PlanningContext): boolean {
  if (!isEmptyBits(openTo(choice, template))) return false;
  return fewerThanAsked(choice, template, context).length === 0;
}

/**
 * Whether the node can be launched now, with enough values for minValues: into a free reservation, or without one. With
 * `strictReservations`, a node that wants a full reservation waits.
 */
export function canLaunch(
  { set, types }: DomainChoice,
  template: Template,
  { space, reservations, strictReservations, minValuesPolicy }: PlanningContext,
): boolean {
  const { table } = template;
  const hasValues = (launched: Bits, isReserved: boolean) =>
    !isEmptyBits(launched) &&
    (minValuesPolicy === "BestEffort" ||
      tooFewValues(template, space, { set, types: launched, isReserved }).length === 0);
  const wanted = table.offerings.hasReserved ? table.reservations(types, set) : [];
  const free = reservations.holdable(wanted, []);
  if (free.length > 0 && hasValues(table.reservable(types, set, free), true)) return true;
  const mustWait =
    strictReservations &&
    free.length === 0 &&
    hasValues(table.reservable(types, set, wanted), true);
  return !mustWait && hasValues(openTo({ set, types }, template), false);
}

/** The requirements that have too few values for minValues. Reserved offerings count only if there are no others. */
function fewerThanAsked(
  choice: DomainChoice,
  template: Template,
  { space, minValuesPolicy }: PlanningContext,
): readonly Requirement[] {
  if (minValuesPolicy === "BestEffort") return [];
  const { table } = template;
  const { set } = choice;
  const open = openTo(choice, template);
  const isReserved = isEmptyBits(open);
  const types = isReserved
    ? table.reservable(choice.types, set, table.reservations(choice.types, set))
    : open;
  return tooFewValues(template, space, { set, types, isReserved }).map(([one]) => one);
}

/** Upstream's sentence, in pkg/scheduling/dynamicresources/allocator.go. */
const NO_DEVICES = "no instance type can satisfy the allocation";

/** A new node of the NodePool, in each combination of topology domains that is possible for it. */
interface Launching {
  readonly template: Template;
  readonly choices: readonly DomainChoice[];
}

/** Why a new node cannot give the pod its devices, in any combination of domains. Undefined: it can. */
export function lackOfDevices(
  needs: DeviceNeeds,
  { template: { table }, choices }: Launching,
  { devices }: PlanningContext,
): Omit<LaunchRefusal, "rejected"> | undefined {
  const [choice] = choices;
  if (devices === undefined || choice === undefined) return undefined;
  const holder = {};
  const asked = choices.map((one) => ({ ...one, holder, table }));
  if (asked.some((one) => devices.ofNewNodes.fits(needs, one).length > 0)) return undefined;
  const why = devices.ofNewNodes.explain(needs, { ...choice, holder, table });
  return { text: `${NO_DEVICES}: ${why}`, why };
}
