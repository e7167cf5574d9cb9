/** Turns a planned node into a `PlannedClaim`: its instance types in the order of price, and its cheapest offering. */
import { CAPACITY_TYPE_LABEL_KEY, HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { addResources, type Resources } from "../../../apis/resources.ts";
import { assert } from "../../../base/assert.ts";
import { mapInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { InstanceType, Offering } from "../../cloudprovider/instance-type.ts";
import { type Bits, equalBits, hasBit, hashOfBits } from "../../scheduling/bits.ts";
import { allows, oneOf } from "../../scheduling/requirement.ts";
import type { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { leastDaemonRequests, simulatedKeys, type Template } from "../pools/pool-template.ts";
import { mergedRows } from "../pools/type-rows.ts";
import { type Chosen, withWholeTypes } from "../pools/whole-types.ts";
import type { PlannedClaim } from "../result.ts";
import type { SchedulingOptions } from "../scheduling-input.ts";
import type { NewNodeClaim } from "./new-nodeclaim.ts";

interface Candidate {
  readonly index: number;
  readonly type: InstanceType;
  readonly offering: Offering;
}

const ONLY_RESERVED = oneOf(CAPACITY_TYPE_LABEL_KEY, ["reserved"]);
const NOT_RESERVED = Requirements.fromSpecs([
  { key: CAPACITY_TYPE_LABEL_KEY, operator: "NotIn", values: ["reserved"] },
]);

/** Results that planned nodes of one NodePool with equal requirements share. */
export interface ClaimKind {
  readonly requirements: Requirements;
  readonly specs: PlannedClaim["requirements"];
  /** Candidates, the cheapest first. */
  readonly priced: readonly Candidate[];
  /** Results by a hash of the types that are still possible. */
  readonly choices: Map<number, Choice[]>;
}

/** The result for nodes of this kind that have these types left. */
interface Choice {
  readonly types: Bits;
  readonly chosen: Pick<PlannedClaim, "instanceTypes" | "cheapest" | "requirements">;
  readonly daemonRequests: Resources;
}

interface Listing {
  readonly space: RequirementSpace;
  readonly options: SchedulingOptions;
  /** Results of earlier calls with the same `space`, by NodePool, requirements and reservations of the claim. */
  readonly kinds: Map<string, ClaimKind>;
}

/** The planned claims, in the order in which the nodes were opened. Equal nodes share their lists. */
export function* planClaims(
  claims: readonly NewNodeClaim[],
  listing: Listing,
): Steps<PlannedClaim[]> {
  for (const claim of claims) claim.settleLimits();
  return yield* mapInSteps(claims, (claim) => planned(claim, listing));
}

function planned(
  claim: NewNodeClaim,
  { space, options: { maxInstanceTypes }, kinds }: Listing,
): PlannedClaim {
  const { template, reserved, requests } = claim;
  const key = `${template.index} ${claim.set} ${reserved.length === 0 ? "" : reserved.join()}`;
  const kind = within(kinds, key, () =>
    kindOf(template, requirementsOf(claim, space.get(claim.set))),
  );
  const { deviceDrivers, maxRunMs } = claim;
  const { chosen, daemonRequests } = choiceFor(claim, kind, maxInstanceTypes);
  return {
    pool: template.pool,
    requirements: chosen.requirements,
    instanceTypes: chosen.instanceTypes,
    cheapest: chosen.cheapest,
    pods: claim.pods,
    requests: template.daemons.length === 0 ? requests : addResources(requests, daemonRequests),
    minValuesRelaxed: claim.minValuesRelaxed,
    ...(maxRunMs === undefined ? {} : { maxRunMs }),
    ...(deviceDrivers.length === 0 ? {} : { deviceDrivers }),
  };
}

/** The node's requirements. A node that holds reservations is launched into one of them, any other node into none. */
function requirementsOf({ template, reserved }: NewNodeClaim, own: Requirements): Requirements {
  const leftOut = new Set([HOSTNAME_LABEL_KEY, ...simulatedKeys(template.pool)]);
  const requirements = own.without(leftOut);
  const key = template.table.offerings.reservationKey();
  if (key === undefined) return requirements;
  if (reserved.length === 0) return requirements.and(NOT_RESERVED);
  return requirements.and(Requirements.of([ONLY_RESERVED, oneOf(key, reserved)]));
}

function kindOf(template: Template, requirements: Requirements): ClaimKind {
  const { types, offerings } = template.table;
  const priced: Candidate[] = [];
  offerings.cheapest(requirements).forEach((offering, index) => {
    const type = types[index] as InstanceType;
    if (offering !== undefined) priced.push({ index, type, offering });
  });
  const specs = requirements.specs();
  return { requirements, specs, priced: priced.sort(cheapestFirst), choices: new Map() };
}

function choiceFor(claim: NewNodeClaim, kind: ClaimKind, most: number): Choice {
  const choices = within(kind.choices, hashOfBits(claim.types), () => []);
  const known = choices.find(({ types }) => equalBits(types, claim.types));
  if (known !== undefined) return known;
  const choice = choiceOf(claim, kind, most);
  choices.push(choice);
  return choice;
}

function choiceOf(claim: NewNodeClaim, kind: ClaimKind, most: number): Choice {
  const { template, types } = claim;
  const whole = withWholeTypes(template.table, kind.requirements, types);
  const isWhole = whole.requirements === kind.requirements;
  const { priced, specs } = isWhole ? kind : kindOf(template, whole.requirements);
  const rows: InstanceType[] = [];
  let cheapest: Candidate | undefined;
  for (let at = 0; at < priced.length; at++) {
    const candidate = priced[at] as Candidate;
    if (!hasBit(whole.rows, candidate.index)) continue;
    cheapest ??= candidate;
    rows.push(candidate.type);
  }
  assert(cheapest !== undefined, "a planned node has a type that can be launched");
  const { zone, capacityType, priceMicroUsd } = cheapest.offering;
  const kept = rows.length <= most ? rows : chosen(whole, priced, most);
  return {
    types,
    chosen: {
      requirements: specs,
      instanceTypes: template.table.hasSplitTypes ? mergedRows(kept) : kept,
      cheapest: { instanceType: cheapest.type.name, zone, capacityType, priceMicroUsd },
    },
    daemonRequests: leastDaemonRequests(template, whole.rows),
  };
}

/**
 * The cheapest types, with as many values of labels as minValues demands: the cheapest type of each missing value comes
 * first. Upstream cuts the list by price only, and then drops a claim that has too few values.
 */
function chosen(
  { rows, requirements }: Chosen,
  priced: readonly Candidate[],
  most: number,
): InstanceType[] {
  const candidates = priced.filter(({ index }) => hasBit(rows, index));
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

/** Orders candidates by price. Among reserved instances, which cost nothing, the purchase price decides, as in EC2. */
function cheapestFirst(a: Candidate, b: Candidate): number {
  return (
    a.offering.priceMicroUsd - b.offering.priceMicroUsd ||
    priceToBuy(a) - priceToBuy(b) ||
    (a.type.name === b.type.name ? a.index - b.index : a.type.name < b.type.name ? -1 : 1)
  );
}

function priceToBuy({ type, offering }: Candidate): number {
  if (offering.capacityType !== "reserved") return 0;
  const bought = type.offerings.filter(({ capacityType }) => capacityType === "on-demand");
  return bought.length === 0 ? 0 : Math.min(...bought.map(({ priceMicroUsd }) => priceMicroUsd));
}
