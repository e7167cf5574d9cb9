/**
 * Why an instance type refuses a pod: every stage of the check that fails, with the cause. Placement checks the same
 * stages for all types at once. test/fuzz/feasibility.test.ts compares the two.
 */
import type { Resources } from "../../../apis/resources.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import { isUsable } from "../../cloudprovider/offerings.ts";
import { type Bits, hasBit } from "../../scheduling/bits.ts";
import { allows, allowsAbsence } from "../../scheduling/requirement.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { TypeTable } from "../pools/instance-types.ts";
import type { TypeRow } from "../pools/type-rows.ts";
import type { ShortResource } from "./node-refusal.ts";

/** The requirements of a pod on an instance type. */
export interface AskedType {
  readonly requests: Resources;
  /** The requirements of the pool, of the pod and of its volumes together. */
  readonly requirements: Requirements;
  readonly volumes: Requirements;
  /** The types that can attach the pod's volumes. Undefined: all types can. */
  readonly attaching: Bits | undefined;
}

export type TypeRefusal =
  | ShortResource
  /** The type has these values of the label, and none of them is allowed. */
  | { readonly stage: "requirements"; readonly key: string; readonly values: readonly string[] }
  /** The offering that comes closest has this value of the label, which is not allowed. */
  | { readonly stage: "offerings"; readonly key: string; readonly value: string }
  /** No available offering is at a place where the pod's volumes can be reached. */
  | { readonly stage: "noOffering" }
  | { readonly stage: "attachSlots" };

/** The labels that belong to an offering, not to its instance type. */
export const OFFERED = ["topology.kubernetes.io/zone", "karpenter.sh/capacity-type"] as const;

export function isOffered(key: string): boolean {
  return (OFFERED as readonly string[]).includes(key);
}

/** All refusals of the type in this row of the table. Empty: the type accepts the pod. */
export function typeRefusals(
  table: TypeTable,
  row: number,
  { requests, requirements, volumes, attaching }: AskedType,
): readonly TypeRefusal[] {
  const type = table.types[row] as TypeRow;
  const refusals: TypeRefusal[] = [];
  for (const requirement of requirements.all()) {
    const { key } = requirement;
    const values = type.labels[key];
    if (values === undefined || isOffered(key)) continue;
    if (values.length === 0 && allowsAbsence(requirement)) continue;
    if (!values.some((value) => allows(requirement, value)))
      refusals.push({ stage: "requirements", key, values });
  }
  const sold = type.offerings.filter((one) => isUsable(one) && isWhere(volumes, one));
  const offering = nearestOffering(sold, requirements);
  if (offering === undefined) refusals.push({ stage: "noOffering" });
  for (const [key, value] of offering ?? []) refusals.push({ stage: "offerings", key, value });
  const there = table.allocatable(row);
  for (const resource of Object.keys(requests).sort()) {
    const requested = requests[resource] as number;
    const left = Math.max(0, there[resource] ?? 0);
    if (requested > left) refusals.push({ stage: "resources", resource, requested, left });
  }
  if (attaching !== undefined && !hasBit(attaching, row)) refusals.push({ stage: "attachSlots" });
  return refusals;
}

function isWhere(volumes: Requirements, { zone, capacityType }: Offering): boolean {
  return [zone, capacityType].every((value, at) => {
    const key = OFFERED[at] as string;
    return !volumes.has(key) || allows(volumes.get(key), value);
  });
}

/** The labels of the offering with the fewest labels that are not allowed. Undefined: the type has no offering. */
function nearestOffering(
  offerings: readonly Offering[],
  requirements: Requirements,
): readonly (readonly [key: string, value: string])[] | undefined {
  let nearest: readonly (readonly [string, string])[] | undefined;
  for (const { zone, capacityType, labels = {} } of offerings) {
    const own = [
      [OFFERED[0], zone],
      [OFFERED[1], capacityType],
      ...Object.entries(labels),
    ] as const;
    const wrong = own.filter(
      ([key, value]) => requirements.has(key) && !allows(requirements.get(key), value),
    );
    if (nearest === undefined || wrong.length < nearest.length) nearest = wrong;
  }
  return nearest;
}
