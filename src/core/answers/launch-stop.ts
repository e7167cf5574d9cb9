/**
 * Why a NodePool can launch no node at all, whatever the pods are. The checks are those of planning, in its order: the
 * requirements, what can be bought now, the limits, minValues.
 */
import { formatResource, type Resources } from "../../apis/resources.ts";
import { counted } from "../../base/counted.ts";
import { compareText } from "../../base/text-order.ts";
import type { InstanceType } from "../cloudprovider/instance-type.ts";
import { isCompatible, usableOfferings } from "../cloudprovider/offerings.ts";
import { remainingLimits } from "../nodepool/limits.ts";
import { poolLabels } from "../provisioning/manifest.ts";
import type { PoolInput, SchedulingOptions } from "../provisioning/scheduling-input.ts";
import { allows, formatRequirement, type Requirement } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";

/** The most values of a label that a message lists. */
const NAMED_VALUES = 6;
/** The most reasons why offerings are not available that a message lists. */
const NAMED_REASONS = 2;

/** One clause without a full stop. Undefined: the pool can launch a node for some pod. */
export function launchStop(
  { pool, instanceTypes, usage }: PoolInput,
  { minValuesPolicy }: Pick<SchedulingOptions, "minValuesPolicy">,
): string | undefined {
  const remaining = remainingLimits(pool.limits, usage);
  const nodes = remaining["nodes"];
  if (nodes !== undefined && nodes < 1)
    return `spec.limits.nodes is ${pool.limits["nodes"]}${pool.limits["nodes"] ? ", and all are used" : ""}`;
  if (instanceTypes.length === 0) return "its node class offers no instance type";
  const own = Requirements.fromSpecs(pool.requirements).and(
    Requirements.fromLabels(poolLabels(pool)),
  );
  const isUsed = (type: InstanceType) => isBought(type, own) && fits(type, remaining);
  const isStrict = minValuesPolicy === "Strict" && own.withMinValues().length > 0;
  if (!isStrict && instanceTypes.some(isUsed)) return undefined;
  const sold = instanceTypes.filter((type) => isSold(type, own));
  if (sold.length === 0) return requirementsText([...own.all()], instanceTypes);
  const bought = sold.filter((type) => isBought(type, own));
  if (bought.length === 0) return soldOutText(sold, own);
  if (!bought.some((type) => fits(type, remaining))) return limitsText(remaining, bought);
  return isStrict ? minValuesText(bought, own) : undefined;
}

/** Whether the type, and one of its offerings, available or not, satisfies the requirements. */
function isSold({ labels, offerings }: InstanceType, own: Requirements): boolean {
  for (const one of own.all()) if (!satisfies(labels, one)) return false;
  return offerings.some((offering) => isCompatible(offering, own));
}

/** Whether one of the type's offerings can be bought now and satisfies the requirements, as the type does. */
function isBought(type: InstanceType, own: Requirements): boolean {
  return isSold(type, own) && usableOfferings(type, own).length > 0;
}

function fits({ capacity }: InstanceType, remaining: Resources): boolean {
  return Object.entries(remaining).every(([name, left]) => (capacity[name] ?? 0) <= left);
}

function satisfies(labels: InstanceType["labels"], requirement: Requirement): boolean {
  return labels[requirement.key]?.some((value) => allows(requirement, value)) ?? true;
}

/** Names a smallest group of requirements that no type satisfies together, and the values that types have. */
function requirementsText(
  all: readonly Requirement[],
  instanceTypes: readonly InstanceType[],
): string {
  const isStuck = (some: readonly Requirement[]) => {
    const own = Requirements.of(some);
    return !instanceTypes.some((type) => isSold(type, own));
  };
  let blamed = all;
  for (const one of all) {
    const without = blamed.filter((other) => other !== one);
    if (isStuck(without)) blamed = without;
  }
  const texts = blamed.map(formatRequirement);
  if (blamed.length !== 1) return `no instance type has all of ${texts.join(", ")}`;
  const { key } = blamed[0] as Requirement;
  const values = [...new Set(instanceTypes.flatMap(({ labels }) => labels[key] ?? []))];
  const shown = values.toSorted(compareText).slice(0, NAMED_VALUES).join(", ");
  const more = values.length > NAMED_VALUES ? ` and ${values.length - NAMED_VALUES} more` : "";
  const there = values.length === 0 ? "" : ` (there are ${shown}${more})`;
  return `no instance type has ${texts[0]}${there}`;
}

function soldOutText(types: readonly InstanceType[], own: Requirements): string {
  const reasons = new Set<string>();
  for (const { offerings } of types)
    for (const one of offerings)
      if (one.unavailableBecause !== undefined && isCompatible(one, own))
        reasons.add(one.unavailableBecause);
  const why = [...reasons].toSorted(compareText).slice(0, NAMED_REASONS).join("; ");
  const none = `none of its ${counted(types.length, "instance type")} can be bought now`;
  return why === "" ? none : `${none}: ${why}`;
}

/** Undefined: the types have enough values for the minValues of each requirement. */
function minValuesText(types: readonly InstanceType[], own: Requirements): string | undefined {
  for (const one of own.withMinValues()) {
    const values = types.flatMap(({ labels }) => labels[one.key] ?? []);
    const count = new Set(values.filter((value) => allows(one, value))).size;
    if (count < (one.minValues ?? 0))
      return `minValues of ${one.key} is ${one.minValues}, and its instance types have ${counted(count, "value")} of it`;
  }
  return undefined;
}

function limitsText(remaining: Resources, types: readonly InstanceType[]): string {
  const short = Object.entries(remaining)
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([name, left]) => {
      const least = Math.min(...types.map(({ capacity }) => capacity[name] ?? 0));
      if (least <= left) return [];
      const [has, needs] = [Math.max(0, left), least].map((amount) => formatResource(name, amount));
      return [`spec.limits.${name} has ${has} left, its smallest instance type has ${needs}`];
    });
  return short.join("; ") || "each of its instance types is beyond one of spec.limits";
}
