/**
 * Chooses where in a placement group an instance is launched. A claim may name partitions. The first of them that has
 * available offerings is used, the smallest number first, because one partition may have capacity that another lacks.
 */
import { LABEL_PLACEMENT_GROUP_PARTITION } from "../../../apis/aws/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import type { InstanceType, Offering } from "../../../core/cloudprovider/instance-type.ts";
import { allows, type Requirement } from "../../../core/scheduling/requirement.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";
import type { GroupScope, UnavailableOfferings } from "../offering/unavailable.ts";
import type { FoundPlacementGroup } from "../placementgroup/placement-groups.ts";
import { type Candidates, candidates } from "./candidates.ts";
import type { Launched } from "./to-claim.ts";

interface Choice {
  readonly claim: NodeClaim;
  readonly types: readonly InstanceType[];
  readonly placementGroup: FoundPlacementGroup | undefined;
  readonly unavailable: UnavailableOfferings;
}

/** The first possible placement with available offerings, and these offerings. */
export function choosePlace(
  { claim, types, placementGroup, unavailable }: Choice,
  zones: ReadonlySet<string>,
): { readonly found: Candidates; readonly placement: Launched["placement"] } | undefined {
  for (const placement of placements(claim, placementGroup)) {
    const found = candidates(claim, typesIn(placement, types, unavailable), zones);
    if (found !== undefined) return { found, placement };
  }
  return undefined;
}

/** The partitions that the claim names, smallest first. If it names none, EC2 chooses. */
function placements(
  claim: NodeClaim,
  group: FoundPlacementGroup | undefined,
): readonly Launched["placement"][] {
  if (group === undefined) return [undefined];
  const key = LABEL_PLACEMENT_GROUP_PARTITION;
  if (!claim.spec.requirements.some((one) => one.key === key)) return [{ groupId: group.id }];
  const wanted = requirementOf(claim, key);
  const partitions = group.partitions.filter((one) => allows(wanted, one));
  if (partitions.length === 0) return [{ groupId: group.id }];
  return partitions.map((one) => ({ groupId: group.id, partition: Number(one) }));
}

/**
 * The types without the offerings for which this partition had no capacity recently. The same list if all have
 * capacity.
 */
function typesIn(
  placement: Launched["placement"],
  types: readonly InstanceType[],
  unavailable: UnavailableOfferings,
): readonly InstanceType[] {
  const group = scopeOf(placement);
  if (group?.partition === undefined) return types;
  const isOut = (name: string, { capacityType, zone }: Offering): boolean =>
    unavailable.has({ capacityType, instanceType: name, zone, group });
  if (!types.some((one) => one.offerings.some((offering) => isOut(one.name, offering))))
    return types;
  return types.map((one) => ({
    ...one,
    offerings: one.offerings.filter((offering) => !isOut(one.name, offering)),
  }));
}

/** The placement group, or its partition, that an error is about. Undefined: there is none. */
export function scopeOf(placement: Launched["placement"]): GroupScope | undefined {
  if (placement === undefined) return undefined;
  const { groupId: id, partition } = placement;
  return partition === undefined ? { id } : { id, partition };
}

/** The requirement of one key. Not all are parsed, because a claim may list hundreds of types under another key. */
export function requirementOf({ spec }: NodeClaim, key: string): Requirement {
  return Requirements.fromSpecs(spec.requirements.filter((one) => one.key === key)).get(key);
}
