/**
 * Reduces the instance types of a replacement to those that are cheaper than the removed nodes, whichever offering the
 * cloud launches. Spot replaces spot only under conditions: otherwise a node would be replaced again and again by the
 * cheapest type, which is reclaimed most often. karpenter-ts only: if spot-to-spot consolidation is off, an on-demand
 * node at half the price may replace a spot node.
 * upstream: pkg/controllers/disruption/consolidation.go (computeConsolidation, spot-to-spot)
 */
import { CAPACITY_TYPE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import { within } from "../../base/within.ts";
import type { InstanceType, Offering } from "../cloudprovider/instance-type.ts";
import {
  cheapestOffering,
  NO_PRICE_MICRO_USD,
  worstLaunchPriceMicroUsd,
} from "../cloudprovider/offerings.ts";
import type { PlannedClaim } from "../provisioning/result.ts";
import { allows, oneOf, type Requirement } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { Candidate } from "./candidates.ts";

/** Spot replaces a single spot node only with at least this many cheaper types. The replacement then names as many. */
const MIN_SPOT_TYPES = 15;

/**
 * An on-demand node may cost this share of the spot nodes that it replaces. A larger share would move nodes to and fro.
 */
const ON_DEMAND_SHARE = 0.5;

const SPOT_ONLY = Requirements.of([oneOf(CAPACITY_TYPE_LABEL_KEY, ["spot"])]);
const ON_DEMAND_ONLY = Requirements.of([oneOf(CAPACITY_TYPE_LABEL_KEY, ["on-demand"])]);

export const NOT_CHEAPER = "Can't replace with a cheaper node";
/** upstream's sentence, also in events. Answers add how to set the gate. */
export const SPOT_STAYS = {
  message: "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
};

/** The capacity type that may replace nodes which are all spot. */
export type ForSpot = "spot" | "onDemand" | "nothing";

/** A plan that names only cheaper instance types, or why there is none. */
export type Cheaper = { readonly plan: PlannedClaim } | { readonly message: string };

/** The price that a replacement must stay below, and the rules for spot nodes. */
export interface PriceLimit {
  readonly candidates: readonly Candidate[];
  readonly belowMicroUsd: number;
  readonly forSpot: ForSpot;
}

/** The plan with only the instance types that are below the limit. */
export function cheaperPlan(plan: PlannedClaim, limit: PriceLimit): Cheaper {
  const { candidates, belowMicroUsd, forSpot } = limit;
  if (plan.cheapest.priceMicroUsd >= belowMicroUsd) return { message: NOT_CHEAPER };
  const [one] = candidates;
  if (candidates.length > 1 || one === undefined) return cheaperThan(plan, limit);
  // Thousands of nodes with the same price are checked in one round, so results are cached.
  const ofTypes = within(
    termsOf(plan).answers,
    plan.instanceTypes,
    () => new Map<number, Answer>(),
  );
  const key = keyOf(plan, belowMicroUsd, one.capacityType === "spot" ? forSpot : undefined);
  const answer = within(ofTypes, key, (): Answer => {
    const found = cheaperThan(plan, limit);
    return "message" in found ? found : { choice: choiceOf(found.plan) };
  });
  return "message" in answer ? answer : { plan: { ...plan, ...answer.choice } };
}

const FOR_SPOT: readonly (ForSpot | undefined)[] = [undefined, "spot", "onDemand", "nothing"];

/** All inputs of a cached result besides the instance types, as one number, because numbers are looked up fast. */
function keyOf(
  { minValuesRelaxed }: PlannedClaim,
  belowMicroUsd: number,
  forSpot: ForSpot | undefined,
): number {
  return belowMicroUsd * 8 + FOR_SPOT.indexOf(forSpot) * 2 + Number(minValuesRelaxed);
}

/** The fields of a plan that the price limit changes. */
type LaunchChoice = Pick<PlannedClaim, "requirements" | "instanceTypes" | "cheapest">;

type Answer = { readonly choice: LaunchChoice } | { readonly message: string };

function choiceOf({ requirements, instanceTypes, cheapest }: PlannedClaim): LaunchChoice {
  return { requirements, instanceTypes, cheapest };
}

function cheaperThan(plan: PlannedClaim, limit: PriceLimit): Cheaper {
  const { candidates, belowMicroUsd } = limit;
  const terms = termsOf(plan);
  const capacityType = terms.requirements.get(CAPACITY_TYPE_LABEL_KEY);
  const mayBeSpot = allows(capacityType, "spot") && isOffered(plan, terms.spot);
  if (mayBeSpot && candidates.every((one) => one.capacityType === "spot"))
    return spotForSpot(plan, limit);
  const cheaper = keepCheaper(plan, terms, belowMicroUsd);
  if ("message" in cheaper || !mayBeSpot) return cheaper;
  // The claim must require spot. If the spot launch failed, an on-demand node could cost more than the removed nodes.
  const onDemandToo = isOffered(cheaper.plan, terms.onDemand);
  return onDemandToo ? narrowed(cheaper.plan, terms.spot) : cheaper;
}

function spotForSpot(
  plan: PlannedClaim,
  { candidates, belowMicroUsd, forSpot }: PriceLimit,
): Cheaper {
  if (forSpot !== "spot")
    return forSpot === "onDemand" ? onDemandForSpot(plan, belowMicroUsd) : SPOT_STAYS;
  const { spot } = termsOf(plan);
  const cheaper = keepCheaper(plan, spot, belowMicroUsd);
  if ("message" in cheaper || candidates.length > 1) return cheaper;
  const { instanceTypes } = cheaper.plan;
  if (instanceTypes.length < MIN_SPOT_TYPES) {
    const what = "instance type options than the current candidate to consolidate";
    return {
      message: `SpotToSpotConsolidation requires ${MIN_SPOT_TYPES} cheaper ${what}, got ${instanceTypes.length}`,
    };
  }
  // If more types were requested, the cloud might launch one that the next cheaper type soon replaces.
  let count = MIN_SPOT_TYPES;
  const lacks = () => missingValues(spot.requirements, instanceTypes.slice(0, count)) !== undefined;
  while (count < instanceTypes.length && lacks()) count++;
  return { plan: { ...cheaper.plan, instanceTypes: instanceTypes.slice(0, count) } };
}

function onDemandForSpot(plan: PlannedClaim, priceMicroUsd: number): Cheaper {
  const most = priceMicroUsd * ON_DEMAND_SHARE;
  const cheaper = keepCheaper(plan, termsOf(plan).onDemand, most);
  return "message" in cheaper ? SPOT_STAYS : cheaper;
}

/**
 * For several removed nodes: if the plan names the type of one of them, keeps only types that cost less than the
 * cheapest such node. Otherwise a node of the same type could replace it.
 * upstream: filterOutSameInstanceType
 */
export function withoutSameTypes(plan: PlannedClaim, candidates: readonly Candidate[]): Cheaper {
  const offered = new Set(plan.instanceTypes.map(({ name }) => name));
  const shared = candidates
    .filter(({ instanceType }) => instanceType !== undefined && offered.has(instanceType.name))
    .map(({ priceMicroUsd }) => priceMicroUsd);
  if (shared.length === 0) return { plan };
  return keepCheaper(plan, termsOf(plan), Math.min(...shared));
}

/** The plan with only the types up to this price, launched as this capacity type. Both limits are optional. */
export function launchedAs(
  plan: PlannedClaim,
  capacityType: string | undefined,
  mostMicroUsd: number = NO_PRICE_MICRO_USD - 1,
): Cheaper {
  const { spot, onDemand, ...any } = termsOf(plan);
  if (capacityType === "reserved" && plan.cheapest.capacityType !== "reserved")
    return { message: NOT_CHEAPER };
  const terms = capacityType === "spot" ? spot : capacityType === "on-demand" ? onDemand : any;
  return keepCheaper(plan, terms, mostMicroUsd + 1);
}

function keepCheaper(plan: PlannedClaim, terms: PricedTerms, belowMicroUsd: number): Cheaper {
  const types = plan.instanceTypes.filter((type) => terms.worstMicroUsd(type) < belowMicroUsd);
  if (types.length === 0) return { message: NOT_CHEAPER };
  const missing = missingValues(terms.requirements, types);
  if (missing !== undefined && !plan.minValuesRelaxed)
    return { message: `Filtering by price: ${missing}` };
  return narrowed({ ...plan, instanceTypes: types }, terms);
}

/** The plan with only those instance types that have an offering under these terms, the cheapest first. */
function narrowed(plan: PlannedClaim, terms: PricedTerms): Cheaper {
  const priced = plan.instanceTypes
    .flatMap((type) => {
      const offering = terms.cheapest(type);
      return offering === undefined ? [] : [{ type, offering }];
    })
    .sort(
      (a, b) =>
        a.offering.priceMicroUsd - b.offering.priceMicroUsd || (a.type.name < b.type.name ? -1 : 1),
    );
  const first = priced[0];
  if (first === undefined) return { message: NOT_CHEAPER };
  const { zone, capacityType, priceMicroUsd } = first.offering;
  return {
    plan: {
      ...plan,
      requirements: terms.specs,
      instanceTypes: priced.map(({ type }) => type),
      cheapest: { instanceType: first.type.name, zone, capacityType, priceMicroUsd },
    },
  };
}

function isOffered({ instanceTypes }: PlannedClaim, terms: PricedTerms): boolean {
  return instanceTypes.some((type) => terms.cheapest(type) !== undefined);
}

/** Requirements for a launch, and the prices of instance types under them. Each price is computed once. */
interface PricedTerms {
  readonly requirements: Requirements;
  readonly specs: PlannedClaim["requirements"];
  /** The cheapest offering of the type that satisfies the requirements. Undefined: none does. */
  readonly cheapest: (type: InstanceType) => Offering | undefined;
  /** The most that a launch of the type may cost under the requirements. */
  readonly worstMicroUsd: (type: InstanceType) => number;
}

/** The terms of a plan, and the same terms restricted to spot and to on-demand. */
interface LaunchTerms extends PricedTerms {
  readonly spot: PricedTerms;
  readonly onDemand: PricedTerms;
  /** Cached results of {@link cheaperPlan} for one removed node: by the types of the plan, then by {@link keyOf}. */
  readonly answers: WeakMap<readonly InstanceType[], Map<number, Answer>>;
}

/** Cached for each list of requirements. Thousands of plans in one round share one list. */
const termsBySpecs = new WeakMap<PlannedClaim["requirements"], LaunchTerms>();

function termsOf({ requirements: specs }: PlannedClaim): LaunchTerms {
  return within(termsBySpecs, specs, () => {
    const requirements = Requirements.fromSpecs(specs);
    const spot = pricedTerms(requirements.and(SPOT_ONLY));
    const onDemand = pricedTerms(requirements.and(ON_DEMAND_ONLY));
    return { ...pricedTerms(requirements), spot, onDemand, answers: new WeakMap() };
  });
}

function pricedTerms(requirements: Requirements): PricedTerms {
  return {
    requirements,
    specs: requirements.specs(),
    cheapest: oncePerType((type) => cheapestOffering(type, requirements)),
    worstMicroUsd: oncePerType((type) => worstLaunchPriceMicroUsd(type, requirements)),
  };
}

function oncePerType<T>(make: (type: InstanceType) => T): (type: InstanceType) => T {
  const known = new Map<InstanceType, { readonly made: T }>();
  return (type) => (known.get(type) ?? within(known, type, () => ({ made: make(type) }))).made;
}

/** The first requirement whose minValues these types do not reach, in words. Undefined: there is none. */
function missingValues(
  requirements: Requirements,
  types: readonly InstanceType[],
): string | undefined {
  for (const requirement of requirements.all()) {
    const { key, minValues } = requirement;
    if (minValues === undefined) continue;
    const count = distinctValues(requirement, types);
    if (count < minValues)
      return `minValues requirement is not met for label "${key}" (wants ${minValues}, has ${count})`;
  }
  return undefined;
}

function distinctValues(requirement: Requirement, types: readonly InstanceType[]): number {
  const values = types.flatMap((type) => type.labels[requirement.key] ?? []);
  return new Set(values.filter((value) => allows(requirement, value))).size;
}
