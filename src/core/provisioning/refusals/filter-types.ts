/**
 * Which of a pool's types a pod cannot have as they are, and upstream's sentence about all of them together.
 * upstream: pkg/controllers/provisioning/scheduling/nodeclaim.go (InstanceTypeFilterError)
 */
import type { Resources } from "../../../apis/resources.ts";
import {
  type Bits,
  bitIndices,
  hasBit,
  isEmptyBits,
  noBits,
  setBit,
} from "../../scheduling/bits.ts";
import type { SetId } from "../../scheduling/requirement-space.ts";
import type { Template } from "../pools/pool-template.ts";
import type { RejectionReason } from "../result.ts";

/** Reason → number of types that fell by it. */
export type Rejected = Partial<Record<RejectionReason, number>>;

/** Someone meant `1000m` and wrote `1000`: more cores than any machine has. */
const IMPLAUSIBLE_CPU_MILLI = 1_000_000_000;

/** Each type's first reason, and the sentence that tells most about all of them together. */
export function filterTypes(
  template: Template,
  requests: Resources,
  set: SetId,
  among: Bits,
): { readonly text: string | undefined; readonly rejected: Rejected; readonly left: Bits } {
  const { table } = template;
  const [meeting, offered] = [table.meeting(set), table.offered(set)];
  const rejected: Rejected = {};
  const met = { one: false, two: false, three: false };
  const pairs = { meetsAndHolds: false, meetsAndOffers: false, holdsAndOffers: false };
  const left = noBits(table.size);
  for (const index of bitIndices(among)) {
    const meets = hasBit(meeting, index);
    const holds = table.holds(index, requests);
    const offers = hasBit(offered, index);
    met.one ||= meets;
    met.two ||= holds;
    met.three ||= offers;
    pairs.meetsAndHolds ||= meets && holds;
    pairs.meetsAndOffers ||= meets && offers;
    pairs.holdsAndOffers ||= holds && offers;
    if (meets && holds && offers) setBit(left, index);
    else {
      const reason = !meets ? "requirements" : !holds ? "resources" : "offerings";
      rejected[reason] = (rejected[reason] ?? 0) + 1;
    }
  }
  const text = isEmptyBits(left)
    ? filterText(met.one, met.two, met.three, pairs, requests)
    : undefined;
  return { text, rejected, left };
}

/** Upstream's texts, from "nothing is right" to "each is right, but never on one type". */
function filterText(
  meets: boolean,
  holds: boolean,
  offers: boolean,
  pairs: { meetsAndHolds: boolean; meetsAndOffers: boolean; holdsAndOffers: boolean },
  requests: Resources,
): string {
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
  if (pairs.meetsAndHolds)
    return `${which} ${requirements} and had enough resources, had a required offering`;
  if (pairs.holdsAndOffers)
    return `${which} had enough resources and the required offering ${requirements}`;
  if (pairs.meetsAndOffers)
    return `${which} ${requirements} and the required offering had the required resources`;
  return "no instance type met the requirements/resources/offering tuple";
}
