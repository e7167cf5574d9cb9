/**
 * What a planned node becomes in the result: its candidates by price, cut to as many as a claim may
 * name, and what the cheapest of them costs.
 */
import { HOSTNAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { addResources } from "../../apis/resources.ts";
import { assert } from "../../base/assert.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { cheapestOffering } from "../cloudprovider/offerings.ts";
import { hasBit } from "../scheduling/bits.ts";
import { allows } from "../scheduling/requirement.ts";
import type { RequirementSpace } from "../scheduling/requirement-space.ts";
import type { Requirements } from "../scheduling/requirements.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";
import { leastDaemonRequests, SIMULATED_KEYS, type Template } from "./pool-template.ts";
import type { PlannedClaim } from "./result.ts";
import type { SchedulingOptions } from "./scheduling-input.ts";

interface Candidate {
  /** Bit of the type in its table. */
  readonly index: number;
  readonly type: InstanceType;
  readonly offering: Offering;
}

const LEFT_OUT: ReadonlySet<string> = new Set([HOSTNAME_LABEL_KEY, ...SIMULATED_KEYS]);

/** The planned nodes in the order in which they were opened. */
export function planClaims(
  claims: readonly NewNodeClaim[],
  space: RequirementSpace,
  options: SchedulingOptions,
): PlannedClaim[] {
  /** Template and requirements → its types by price: many nodes of a batch are alike. */
  const byPrice = new Map<string, readonly Candidate[]>();
  return claims.map((claim) => {
    const requirements = space.get(claim.set).without(LEFT_OUT);
    const key = `${claim.template.index} ${claim.set}`;
    const priced = byPrice.get(key) ?? pricedTypes(claim.template, requirements);
    byPrice.set(key, priced);
    const candidates = priced.filter(({ index }) => hasBit(claim.types, index));
    return plannedClaim(claim, requirements, candidates, options);
  });
}

function pricedTypes(template: Template, requirements: Requirements): Candidate[] {
  const candidates: Candidate[] = [];
  template.table.types.forEach((type, index) => {
    const offering = cheapestOffering(type, requirements);
    if (offering !== undefined) candidates.push({ index, type, offering });
  });
  return candidates.sort(cheapestFirst);
}

function plannedClaim(
  claim: NewNodeClaim,
  requirements: Requirements,
  candidates: readonly Candidate[],
  options: SchedulingOptions,
): PlannedClaim {
  const { template } = claim;
  const cheapest = candidates[0];
  assert(cheapest !== undefined, "a planned node has a type that can be launched");
  const { zone, capacityType, priceMicroUsd } = cheapest.offering;
  return {
    pool: template.pool,
    requirements: requirements.specs(),
    instanceTypes: chosen(candidates, requirements, options.maxInstanceTypes),
    pods: claim.pods,
    requests: addResources(claim.requests, leastDaemonRequests(template, claim.types)),
    cheapest: { instanceType: cheapest.type.name, zone, capacityType, priceMicroUsd },
    minValuesRelaxed: claim.minValuesRelaxed,
  };
}

/**
 * The cheapest, but never fewer values than minValues asks for: for each such label the cheapest
 * type of every value still missing goes in first. Upstream cuts blindly and then gives the claim
 * up.
 */
function chosen(
  candidates: readonly Candidate[],
  requirements: Requirements,
  most: number,
): InstanceType[] {
  if (candidates.length <= most) return candidates.map(({ type }) => type);
  const kept = new Set<Candidate>();
  for (const requirement of requirements.all()) {
    const wanted = requirement.minValues;
    if (wanted === undefined) continue;
    const seen = new Set<string>();
    for (const candidate of candidates) {
      if (seen.size >= wanted) break;
      const values = (candidate.type.labels[requirement.key] ?? []).filter((value) =>
        allows(requirement, value),
      );
      if (values.every((value) => seen.has(value))) continue;
      for (const value of values) seen.add(value);
      kept.add(candidate);
    }
  }
  for (const candidate of candidates) {
    if (kept.size >= most) break;
    kept.add(candidate);
  }
  return [...kept].sort(cheapestFirst).map(({ type }) => type);
}

function cheapestFirst(a: Candidate, b: Candidate): number {
  return (
    a.offering.priceMicroUsd - b.offering.priceMicroUsd || (a.type.name < b.type.name ? -1 : 1)
  );
}
