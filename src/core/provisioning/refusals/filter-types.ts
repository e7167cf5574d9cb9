/**
 * Filters a pool's instance types by requirements, resources and offerings. If none is left, makes upstream's sentence.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go (InstanceTypeFilterError)
 */
import type { Resources } from "../../../apis/resources.ts";
import { isCompatible } from "../../cloudprovider/offerings.ts";
import {
  type Bits,
  bitIndices,
  commonBits,
  firstOutside,
  haveCommonBits,
  isEmptyBits,
} from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { Requirements } from "../../scheduling/requirements.ts";
import type { TypeTable } from "../pools/instance-types.ts";
import type { Template } from "../pools/pool-template.ts";
import { countTypes } from "../pools/whole-types.ts";
import type { RejectionReason } from "../result.ts";

/** Reason → number of types that were refused for this reason. */
export type Rejected = Partial<Record<RejectionReason, number>>;

/** More CPU than any instance has. Whoever requests that probably wrote `1000` instead of `1000m`. */
const IMPLAUSIBLE_CPU_MILLI = 1_000_000_000;

/** The types that are left, the number of types that each filter refused, and upstream's sentence if none is left. */
export function filterTypes(
  { table }: Template,
  requests: Resources,
  set: SetId,
  among: Bits,
): { readonly text: string | undefined; readonly rejected: Rejected; readonly left: Bits } {
  const meets = commonBits(among, table.satisfying(set));
  const holds = commonBits(among, table.holding(requests));
  const offers = commonBits(among, table.offered(set));
  const both = commonBits(meets, holds);
  const left = commonBits(both, offers);
  const text = isEmptyBits(left) ? filterText({ meets, holds, offers }, requests) : undefined;
  return { text, rejected: rejectedBy(table, { among, meets, both, left }), left };
}

/** Counts the types that each filter refused. A type counts for the first filter that refuses it. */
function rejectedBy(
  table: TypeTable,
  kept: {
    readonly among: Bits;
    readonly meets: Bits;
    readonly both: Bits;
    readonly left: Bits;
  },
): Rejected {
  const { among, meets, both, left } = kept;
  const stages: readonly (readonly [RejectionReason, Bits, Bits])[] = [
    ["requirements", among, meets],
    ["resources", meets, both],
    ["offerings", both, left],
  ];
  const fallen = stages
    .map(([reason, before, after]) => ({
      reason,
      types: countTypes(table, before) - countTypes(table, after),
      first: firstOutside(before, after),
    }))
    .filter(({ types }) => types > 0)
    .sort((a, b) => a.first - b.first);
  return Object.fromEntries(fallen.map(({ reason, types }) => [reason, types]));
}

/** Upstream's sentences. The first one: no type passes any filter. The last one: no type passes two of them. */
function filterText(
  some: { readonly meets: Bits; readonly holds: Bits; readonly offers: Bits },
  requests: Resources,
): string {
  const meets = !isEmptyBits(some.meets);
  const holds = !isEmptyBits(some.holds);
  const offers = !isEmptyBits(some.offers);
  const requirements = "met the scheduling requirements";
  const which = "no instance type which";
  if (!meets && !holds && !offers)
    return `no instance type ${requirements} or had enough resources or had a required offering`;
  if (!meets && !holds) return `no instance type ${requirements} or had enough resources`;
  if (!meets && !offers) return `no instance type ${requirements} or had a required offering`;
  if (!holds && !offers) return "no instance type had enough resources or had a required offering";
  if (!meets) return "no instance type met all requirements";
  if (!holds) {
    const typo = (requests["cpu"] ?? 0) >= IMPLAUSIBLE_CPU_MILLI;
    const hint = typo ? " (CPU request >= 1 Million, m vs M typo?)" : "";
    return `no instance type has enough resources${hint}`;
  }
  if (!offers) return "no instance type has the required offering";
  if (haveCommonBits(some.meets, some.holds))
    return `${which} ${requirements} and had enough resources, had a required offering`;
  if (haveCommonBits(some.holds, some.offers))
    return `${which} had enough resources and the required offering ${requirements}`;
  if (haveCommonBits(some.meets, some.offers))
    return `${which} ${requirements} and the required offering had the required resources`;
  return "no instance type met the requirements/resources/offering tuple";
}

/** The most reasons in one message. Each reason is a sentence. */
const MOST_REASONS = 3;

/** Why types with suitable labels and resources cannot be launched, if the provider gives reasons. */
export function whyNotOffered(
  table: TypeTable,
  requests: Resources,
  { set, requirements }: { readonly set: SetId; readonly requirements: Requirements },
): string | undefined {
  const reasons = new Set<string>();
  for (const index of bitIndices(commonBits(table.satisfying(set), table.holding(requests))))
    for (const one of table.types[index]?.offerings ?? [])
      if (one.unavailableBecause !== undefined && isCompatible(one, requirements))
        reasons.add(one.unavailableBecause);
  return reasons.size === 0 ? undefined : [...reasons].sort().slice(0, MOST_REASONS).join("; ");
}

/** Adds to `rejected[reason]` the number of types that are in `before` but not in `left`. */
export function withFallen(
  table: TypeTable,
  rejected: Rejected,
  reason: RejectionReason,
  [before, left]: readonly [Bits, Bits],
): Rejected {
  const gone = countTypes(table, before) - countTypes(table, left);
  return gone === 0 ? rejected : { ...rejected, [reason]: (rejected[reason] ?? 0) + gone };
}
