/**
 * What a planned node becomes in the result: its candidates by price, cut to as many as a claim may name,
 * and what the cheapest of them costs.
 */
import { HOSTNAME_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { addResources } from "../../apis/resources.ts";
import { assert } from "../../base/assert.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import { cheapestOffering } from "../cloudprovider/offerings.ts";
import { bitIndices } from "../scheduling/bits.ts";
import { allows } from "../scheduling/requirement.ts";
import type { RequirementSpace } from "../scheduling/requirement-space.ts";
import type { Requirements } from "../scheduling/requirements.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";
import { leastDaemonRequests, SIMULATED_KEYS } from "./pool-template.ts";
import type { PlannedClaim } from "./result.ts";
import type { SchedulingOptions } from "./scheduling-input.ts";

interface Candidate {
  readonly type: InstanceType;
  readonly offering: Offering;
}

const LEFT_OUT: ReadonlySet<string> = new Set([HOSTNAME_LABEL_KEY, ...SIMULATED_KEYS]);

export function plannedClaim(
  claim: NewNodeClaim,
  space: RequirementSpace,
  options: SchedulingOptions,
): PlannedClaim {
  const { template } = claim;
  const requirements = space.get(claim.set).without(LEFT_OUT);
  const candidates: Candidate[] = [];
  for (const index of bitIndices(claim.types)) {
    const type = template.table.types[index] as InstanceType;
    const offering = cheapestOffering(type, requirements);
    if (offering !== undefined) candidates.push({ type, offering });
  }
  candidates.sort(cheapestFirst);
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
 * The cheapest, but never fewer values than minValues asks for: for each such label the cheapest type of
 * every value still missing goes in first. Upstream cuts blindly and then gives the claim up.
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
