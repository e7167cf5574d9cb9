/**
 * Why a NodePool can launch no node at all, whatever the pods are. Planning decides it: it plans a pod that requests
 * nothing and tolerates everything. The sentence is made from the instance types that planning uses for the pool.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { formatResource } from "../../apis/resources.ts";
import { counted, firstNames } from "../../base/counted.ts";
import type { Steps } from "../../base/steps.ts";
import { compareText } from "../../base/text-order.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { isCompatible } from "../cloudprovider/offerings.ts";
import { poolLabels } from "../provisioning/manifest.ts";
import { TypeTable } from "../provisioning/pools/instance-types.ts";
import { shortOfValues } from "../provisioning/pools/pool-notes.ts";
import { createTemplate, hasNoType, type Template } from "../provisioning/pools/pool-template.ts";
import type { PoolInput, SchedulingInput } from "../provisioning/scheduling-input.ts";
import { planOf, prepare } from "../provisioning/solve.ts";
import { bitIndices, isEmptyBits } from "../scheduling/bits.ts";
import { formatRequirement, type Requirement, toRequirement } from "../scheduling/requirement.ts";
import { RequirementSpace } from "../scheduling/requirement-space.ts";
import { Requirements } from "../scheduling/requirements.ts";

/** The most values of a label that a message lists. */
const NAMED_VALUES = 6;
/** The most reasons why offerings are not available that a message lists. */
const NAMED_REASONS = 2;

/** A pod that asks for nothing. No pod in a cluster can have its namespace and name. */
const PROBE: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "-", name: "-", uid: "-" },
  spec: { tolerations: [{ operator: "Exists" }], containers: [{ name: "-", image: "-" }] },
};

/** One clause without a full stop. Undefined: the pool can launch a node for some pod. */
export function* launchStop(
  input: PoolInput,
  scheduling: SchedulingInput,
): Steps<string | undefined> {
  const asked = { ...scheduling, pods: [PROBE], nodes: [], pools: [input] };
  const { newClaims, unschedulable } = yield* planOf(yield* prepare(asked));
  if (newClaims.length > 0) return undefined;
  const space = new RequirementSpace(new Set());
  const template = createTemplate(input, 0, space, []);
  const isStrict = scheduling.options.minValuesPolicy === "Strict";
  const stop =
    ownStop(input, template, space) ?? (isStrict ? minValuesText(template, space) : undefined);
  const [refusal] = unschedulable[0]?.pools ?? [];
  return stop ?? refusal?.why ?? refusal?.message ?? unschedulable[0]?.message;
}

/** The stop by limits, requirements or what can be bought. Undefined: something else keeps the pool from launching. */
function ownStop(
  { pool, instanceTypes }: PoolInput,
  template: Template,
  space: RequirementSpace,
): string | undefined {
  const { limitsLeft, usable } = template;
  const nodes = pool.limits["nodes"];
  if (limitsLeft.exhausted)
    return `spec.limits.nodes is ${nodes}${nodes ? ", and all are used" : ""}`;
  if (instanceTypes.length === 0) return "its node class offers no instance type";
  if (hasNoType(template)) {
    const labels = Requirements.fromLabels(poolLabels(pool));
    const all = [...pool.requirements.map(toRequirement), ...labels.all()].sort((a, b) =>
      compareText(a.key, b.key),
    );
    const own = Requirements.of(all);
    // The types as planning sees them if everything can be bought.
    const table = new TypeTable(instanceTypes.map(inStock), space);
    const sold = bitIndices(table.compatible(space.intern(own))).map((at) => table.types[at]?.name);
    return sold.length === 0
      ? requirementsText(all, table, space)
      : soldOutText(
          instanceTypes.filter(({ name }) => sold.includes(name)),
          own,
        );
  }
  return isEmptyBits(limitsLeft.within) ? limitsText(template, bitIndices(usable)) : undefined;
}

function inStock(type: InstanceType): InstanceType {
  const offerings = type.offerings.map(
    (one): Offering => ({
      ...one,
      available: true,
      ...(one.capacityType === "reserved" ? { reservationCapacity: 1 } : {}),
    }),
  );
  return { ...type, offerings };
}

/** Names a smallest group of requirements that no type satisfies together, and the values that types have. */
function requirementsText(
  all: readonly Requirement[],
  table: TypeTable,
  space: RequirementSpace,
): string {
  const isStuck = (some: readonly Requirement[]) =>
    isEmptyBits(table.compatible(space.intern(Requirements.of(some))));
  let blamed = all;
  for (const one of all) {
    const without = blamed.filter((other) => other !== one);
    if (isStuck(without)) blamed = without;
  }
  const texts = blamed.map(formatRequirement);
  if (blamed.length !== 1) return `no instance type has all of ${texts.join(", ")}`;
  const { key } = blamed[0] as Requirement;
  const values = [...new Set(table.types.flatMap(({ labels }) => labels[key] ?? []))];
  const shown = firstNames(values.toSorted(compareText), NAMED_VALUES);
  const there = shown === "" ? "" : ` (there are ${shown})`;
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
function minValuesText(template: Template, space: RequirementSpace): string | undefined {
  const { within } = template.limitsLeft;
  const [short] = shortOfValues({ ...template, usable: within }, space);
  if (short === undefined) return undefined;
  const { requirement, count } = short;
  const isLess = template.table.distinctValues(template.usable, requirement) > count;
  const which = isLess ? "the instance types within its limits" : "its instance types";
  return `minValues of ${requirement.key} is ${requirement.minValues}, and ${which} have ${counted(count, "value")} of it`;
}

function limitsText(
  { table, limitsLeft: { remaining } }: Template,
  usable: readonly number[],
): string {
  const short = Object.entries(remaining)
    .toSorted(([a], [b]) => compareText(a, b))
    .flatMap(([name, left]) => {
      const least = Math.min(...usable.map((at) => table.types[at]?.capacity[name] ?? 0));
      if (least <= left) return [];
      const [has, needs] = [Math.max(0, left), least].map((amount) => formatResource(name, amount));
      return [`spec.limits.${name} has ${has} left, its smallest instance type has ${needs}`];
    });
  return short.join("; ") || "each of its instance types is beyond one of spec.limits";
}
