/**
 * Chooses the offerings that a launch requests: allowed by the claim, available, in zones with a subnet. Metal and
 * accelerated types are used only if nothing else fits, spot only while it is cheaper. Pure.
 * upstream: pkg/providers/instance/filter
 */
import * as aws from "../../../apis/aws/labels.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  normalizedLabel,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import {
  fits,
  parseResources,
  type Resources,
  subtractResources,
} from "../../../apis/resources.ts";
import type {
  CapacityType,
  InstanceType,
  Offering,
} from "../../../core/cloudprovider/instance-type.ts";
import { isUsable } from "../../../core/cloudprovider/offerings.ts";
import { allows, allowsAbsence } from "../../../core/scheduling/requirement.ts";
import { Requirements } from "../../../core/scheduling/requirements.ts";
import { typeRequirements } from "../instancetype/requirements.ts";

/** Upstream requests this many types. EC2 accepts 300 overrides, one for each type and zone. */
const MAX_TYPES = 60;

/** An instance type that the claim may get, with its usable offerings. */
export interface LaunchCandidate {
  readonly type: InstanceType;
  /**
   * The offerings that are compatible, available, of the chosen capacity type and in a zone with a subnet. Cheapest
   * first.
   */
  readonly offerings: readonly Offering[];
}

/** The types that a fleet may launch for one claim, all of one capacity type. */
export interface Candidates {
  readonly capacityType: CapacityType;
  /** The types, cheapest first. */
  readonly types: readonly LaunchCandidate[];
}

const REMEMBERED = 256;

/** Lists of types never change, so an answer about a list is kept as long as the list. */
const answered = new WeakMap<readonly InstanceType[], Map<string, Candidates | undefined>>();

/**
 * The types and offerings that a launch may use for the claim. Undefined: none is left. `zones`: those with a subnet to
 * launch into. Results are kept by list and question, because claims that are created together often ask the same.
 */
export function candidates(
  claim: NodeClaim,
  types: readonly InstanceType[],
  zones: ReadonlySet<string>,
): Candidates | undefined {
  const { requirements, resources } = claim.spec;
  const key = JSON.stringify([requirements, resources?.requests, [...zones].sort()]);
  let answers = answered.get(types);
  if (answers === undefined || answers.size >= REMEMBERED) {
    answers = new Map();
    answered.set(types, answers);
  }
  if (!answers.has(key)) answers.set(key, workOut(claim, types, zones));
  return answers.get(key);
}

function workOut(
  claim: NodeClaim,
  types: readonly InstanceType[],
  zones: ReadonlySet<string>,
): Candidates | undefined {
  const requirements = Requirements.fromSpecs(claim.spec.requirements);
  const requests = parseResources(claim.spec.resources?.requests);
  const hasMinValues = claim.spec.requirements.some((one) => one.minValues !== undefined);
  const accepted = acceptedTypes(requirements, types);
  const left = accepted
    .filter((type) => fits(requests, allocatable(type)))
    .map((type) => ({ type, offerings: usable(type, requirements, zones) }))
    .filter(({ offerings }) => offerings.length > 0);
  const reserved = withReservations(left);
  if (reserved !== undefined) return reserved;
  const bought = onlyOfferings(left, (one) => one.capacityType !== "reserved");
  const wanted = hasMinValues ? bought : cheapSpotOnly(withoutExotic(bought));
  const spot = wanted.some(({ offerings }) => offerings.some((one) => one.capacityType === "spot"));
  const capacityType = spot ? "spot" : "on-demand";
  const ofType = wanted
    .map(({ type, offerings }) => ({
      type,
      offerings: offerings.filter((one) => one.capacityType === capacityType).sort(byPrice),
    }))
    .filter(({ offerings }) => offerings.length > 0)
    .sort((a, b) => cheapest(a) - cheapest(b) || (a.type.name < b.type.name ? -1 : 1))
    .slice(0, MAX_TYPES);
  return ofType.length === 0 ? undefined : { capacityType, types: ofType };
}

/** The resources for pods: capacity minus overhead. */
export function allocatable(type: InstanceType): Resources {
  return subtractResources(type.capacity, type.overhead);
}

/** Types that match the requirements. A label that a type does not define matches everything. */
export function acceptedTypes(
  requirements: Requirements,
  types: readonly InstanceType[],
): readonly InstanceType[] {
  // A set, because the planner lists hundreds of names.
  const named = requirements.get(INSTANCE_TYPE_LABEL_KEY);
  const names = named.complement ? undefined : new Set(named.values);
  const others = [...requirements.all()]
    .filter(({ key }) => names === undefined || key !== INSTANCE_TYPE_LABEL_KEY)
    .map((one) => ({ key: one.key, alone: Requirements.of([one]) }));
  return types.filter((type) => {
    if (names !== undefined && !names.has(type.name)) return false;
    const own = typeRequirements(type);
    return others.every(({ key, alone }) => !own.has(key) || own.accepts(alone, NONE));
  });
}

const NONE: ReadonlySet<string> = new Set();

function usable(
  type: InstanceType,
  requirements: Requirements,
  zones: ReadonlySet<string>,
): readonly Offering[] {
  return type.offerings.filter((offering) => {
    if (!isUsable(offering) || !zones.has(offering.zone)) return false;
    const labels: Record<string, string> = {
      [TOPOLOGY_ZONE_LABEL_KEY]: offering.zone,
      [CAPACITY_TYPE_LABEL_KEY]: offering.capacityType,
      ...offering.labels,
    };
    const reservation = requirements.get(aws.LABEL_CAPACITY_RESERVATION_ID);
    if (
      offering.capacityType !== "reserved" &&
      requirements.has(aws.LABEL_CAPACITY_RESERVATION_ID) &&
      !allowsAbsence(reservation)
    ) {
      return false;
    }
    return Object.entries(labels).every(
      ([key, value]) =>
        !requirements.has(normalizedLabel(key)) || allows(requirements.get(key), value),
    );
  });
}

function onlyOfferings(
  list: readonly LaunchCandidate[],
  keep: (offering: Offering) => boolean,
): LaunchCandidate[] {
  return list
    .map(({ type, offerings }) => ({ type, offerings: offerings.filter(keep) }))
    .filter(({ offerings }) => offerings.length > 0);
}

/** Kinds of reservations, in the order in which they are used if prices are equal. */
const RESERVATION_KINDS = ["default", "capacity-block", "interruptible"];

/**
 * Reserved capacity is used first. A launch uses one kind of reservation, the one with the cheapest offering. Of
 * capacity blocks it uses the cheapest one, of other kinds the reservation with most free capacity in each type and
 * zone. Undefined: the claim may use no reservation.
 */
function withReservations(list: readonly LaunchCandidate[]): Candidates | undefined {
  const all = onlyOfferings(list, (one) => one.capacityType === "reserved");
  if (all.length === 0) return undefined;
  const offerings = all.flatMap((one) => one.offerings);
  const [best] = [...offerings].sort(
    (a, b) =>
      a.priceMicroUsd - b.priceMicroUsd ||
      RESERVATION_KINDS.indexOf(kindOf(a)) - RESERVATION_KINDS.indexOf(kindOf(b)),
  );
  const kind = best === undefined ? "default" : kindOf(best);
  const ofKind = onlyOfferings(all, (one) => kindOf(one) === kind);
  const roomiest = ofKind.map(({ type, offerings: own }) => {
    const byZone = new Map<string, Offering>();
    for (const offering of own) {
      const rival = byZone.get(offering.zone);
      if (rival === undefined || roomOf(offering) > roomOf(rival)) {
        byZone.set(offering.zone, offering);
      }
    }
    return { type, offerings: [...byZone.values()].sort(byPrice) };
  });
  const types = roomiest
    .sort((a, b) => cheapest(a) - cheapest(b) || (a.type.name < b.type.name ? -1 : 1))
    .slice(0, kind === "capacity-block" ? 1 : MAX_TYPES)
    .map((one) =>
      kind === "capacity-block" ? { ...one, offerings: one.offerings.slice(0, 1) } : one,
    );
  return { capacityType: "reserved", types };
}

function roomOf(offering: Offering): number {
  return offering.reservationCapacity ?? 0;
}

/** The kind of reservation of the offering: `default`, `capacity-block` or `interruptible`. */
export function kindOf({ labels = {} }: Offering): string {
  if (labels[aws.LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE] === "true") return "interruptible";
  return labels[aws.LABEL_CAPACITY_RESERVATION_TYPE] ?? "default";
}

/**
 * Metal and accelerated types are expensive and start slowly. They are used only if required, or if no other type fits.
 */
function withoutExotic(list: readonly LaunchCandidate[]): LaunchCandidate[] {
  const plain = list.filter(({ type }) => !isExotic(type));
  return plain.length > 0 ? plain : [...list];
}

const ACCELERATORS = ["nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron"];

function isExotic({ labels, capacity }: InstanceType): boolean {
  if (labels[aws.LABEL_INSTANCE_SIZE]?.[0]?.includes("metal")) return true;
  return ACCELERATORS.some((name) => (capacity[name] ?? 0) > 0);
}

/** If both capacity types are allowed, drops spot offerings that cost more than the cheapest on-demand one. */
function cheapSpotOnly(list: readonly LaunchCandidate[]): LaunchCandidate[] {
  const prices = list
    .flatMap(({ offerings }) => offerings)
    .filter((offering) => offering.capacityType === "on-demand")
    .map((offering) => offering.priceMicroUsd);
  if (prices.length === 0) return [...list];
  const limit = Math.min(...prices);
  return list
    .map(({ type, offerings }) => ({
      type,
      offerings: offerings.filter(
        (one) => one.capacityType !== "spot" || one.priceMicroUsd <= limit,
      ),
    }))
    .filter(({ offerings }) => offerings.length > 0);
}

function byPrice(a: Offering, b: Offering): number {
  return a.priceMicroUsd - b.priceMicroUsd || (a.zone < b.zone ? -1 : 1);
}

function cheapest({ offerings }: LaunchCandidate): number {
  return offerings[0]?.priceMicroUsd ?? 0;
}
