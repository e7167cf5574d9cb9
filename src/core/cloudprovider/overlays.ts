/**
 * Applies NodeOverlays, which set prices and extended resources of instance types, to the types of a pool. For each
 * price or resource, the overlay with the highest weight wins. If two overlays of equal weight set the same one, the
 * overlay whose name sorts first has no effect at all, not even elsewhere.
 * upstream: pkg/controllers/nodeoverlay
 */
import type { Pool } from "../../apis/hub/pool.ts";
import { OVERLAY_SHAPE, sound } from "../../apis/hub/shape.ts";
import {
  CAPACITY_TYPE_LABEL_KEY,
  normalizedLabel,
  TOPOLOGY_ZONE_LABEL_KEY,
} from "../../apis/karpenter/labels.ts";
import type { NodeOverlay } from "../../apis/karpenter/nodeoverlay.ts";
import { requirementProblem } from "../../apis/karpenter/requirement-validation.ts";
import { parseResources } from "../../apis/resources.ts";
import { parseNano } from "../../base/quantity.ts";
import { oneOf } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { InstanceType, Offering } from "./instance-type.ts";

/** A pool with its instance types, before overlays. */
export interface OverlaidPool {
  readonly pool: Pool;
  /** Labels that every node of the pool has. */
  readonly labels: Readonly<Record<string, string>>;
  readonly instanceTypes: readonly InstanceType[];
}

/** The overlays that have an effect, and why others have none. */
export interface Judged {
  /** The overlays that have an effect, the highest weight first. */
  readonly accepted: readonly NodeOverlay[];
  /** Names of overlays without effect, each with the reason: `RuntimeValidation` or `Conflict`. */
  readonly rejected: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
}

const NOTHING_UNDEFINED: ReadonlySet<string> = new Set();
const MICRO = 1_000_000;
const FIXED = ["cpu", "memory", "ephemeral-storage", "pods"];

/** Decides which overlays have an effect, over all pools. The order of the lists does not matter. */
export function judgeOverlays(
  pools: readonly OverlaidPool[],
  overlays: readonly NodeOverlay[],
): Judged {
  const accepted: NodeOverlay[] = [];
  const rejected = new Map<string, { reason: string; message: string }>();
  /** For each price and resource that an overlay has set: the weight of the last overlay that set it. */
  const weights = new Map<string, number>();
  const whole = overlays.filter((overlay) => {
    const { problems } = sound(overlay, OVERLAY_SHAPE);
    const message = problems.length > 0 ? problems.join("; ") : overlayProblem(overlay);
    if (message === undefined) return true;
    rejected.set(overlay.metadata.name, { reason: "RuntimeValidation", message });
    return false;
  });
  for (const overlay of whole.sort(heaviestFirst)) {
    const touched = pools.flatMap((one) => touchedIds(overlay, one));
    const weight = weightOf(overlay);
    if (touched.some((id) => weights.get(id) === weight)) {
      const message = "conflict with another overlay";
      rejected.set(overlay.metadata.name, { reason: "Conflict", message });
      continue;
    }
    for (const id of touched) weights.set(id, weight);
    accepted.push(overlay);
  }
  return { accepted, rejected };
}

/**
 * The pool's types after the accepted overlays, which are applied in the order of weight. A type without overlays stays
 * the same object. If no type has an overlay, the same list is returned.
 */
export function layOverlays(
  one: OverlaidPool,
  accepted: readonly NodeOverlay[],
): readonly InstanceType[] {
  const types = one.instanceTypes.map((type) => overlaid(type, one.labels, accepted));
  return types.every((type, index) => type === one.instanceTypes[index])
    ? one.instanceTypes
    : types;
}

/** The violated rule that the schema cannot express. Undefined: the overlay is valid. */
function overlayProblem({ spec }: NodeOverlay): string | undefined {
  if (spec.price !== undefined && spec.priceAdjustment !== undefined)
    return "cannot set both 'price' and 'priceAdjustment'";
  const adjustment = spec.priceAdjustment;
  if (adjustment !== undefined && !/^[+-]\d+(\.\d+)?%?$/.test(adjustment))
    return `spec.priceAdjustment: "${adjustment}" is neither an amount such as +0.5 nor a share such as -10%`;
  if (adjustment?.endsWith("%") && Number.parseFloat(adjustment) < -100)
    return `spec.priceAdjustment: "${adjustment}" is below -100%`;
  if (spec.price !== undefined && !/^\d+(\.\d+)?$/.test(spec.price))
    return `spec.price: "${spec.price}" is not an amount of dollars an hour`;
  for (const [index, one] of spec.requirements.entries()) {
    // Overlays may require labels that pools are not allowed to set.
    const why = requirementProblem(one, [one.key]);
    if (why !== undefined) return `spec.requirements[${index}]: ${why}`;
  }
  for (const [name, amount] of Object.entries(spec.capacity ?? {}))
    if (parseNano(amount) === undefined) return `spec.capacity.${name}: "${amount}" is no quantity`;
  const fixed = Object.keys(spec.capacity ?? {}).find((name) => FIXED.includes(name));
  if (fixed !== undefined)
    return `spec.capacity.${fixed}: only extended resources can be set, ${fixed} is the cloud's to tell`;
  return undefined;
}

/** Ids of all prices and resources that an overlay sets in a pool. */
function touchedIds(overlay: NodeOverlay, { pool, labels, instanceTypes }: OverlaidPool): string[] {
  const resources = Object.keys(overlay.spec.capacity ?? {});
  return instanceTypes.flatMap((type) => {
    const offerings = matching(overlay, type, labels);
    if (offerings.length === 0) return [];
    const of = `${pool.id} ${type.name}`;
    const prices = setsPrice(overlay) ? offerings.map((offering) => offeringId(offering)) : [];
    return [...prices, ...resources].map((what) => `${of} ${what}`);
  });
}

function setsPrice({ spec }: NodeOverlay): boolean {
  return spec.price !== undefined || spec.priceAdjustment !== undefined;
}

/**
 * The offerings of a type that the overlay selects. The labels of pool, type and offering together must satisfy all its
 * requirements.
 */
function matching(
  overlay: NodeOverlay,
  type: InstanceType,
  labels: OverlaidPool["labels"],
): readonly Offering[] {
  const isOffered = (key: string) =>
    key === TOPOLOGY_ZONE_LABEL_KEY ||
    key === CAPACITY_TYPE_LABEL_KEY ||
    type.offerings.some((one) => one.labels?.[key] !== undefined);
  const { requirements } = overlay.spec;
  const ofType = requirements.filter(({ key }) => !isOffered(normalizedLabel(key)));
  // A type has many labels. Only the labels that the overlay's requirements name are used.
  const asked = new Set(requirements.map(({ key }) => normalizedLabel(key)));
  const own = [...asked].flatMap((key) => {
    const values = type.labels[key];
    return values === undefined ? [] : [oneOf(key, values)];
  });
  const ofPool = Object.entries(labels).filter(([key]) => asked.has(normalizedLabel(key)));
  const described = Requirements.fromLabels(Object.fromEntries(ofPool)).and(Requirements.of(own));
  if (!described.accepts(Requirements.fromSpecs(ofType), NOTHING_UNDEFINED)) return [];
  if (ofType.length === requirements.length) return type.offerings;
  const wanted = Requirements.fromSpecs(requirements);
  return type.offerings.filter(({ zone, capacityType, labels: further }) => {
    const offered = {
      ...further,
      [TOPOLOGY_ZONE_LABEL_KEY]: zone,
      [CAPACITY_TYPE_LABEL_KEY]: capacityType,
    };
    return described.replacing(Requirements.fromLabels(offered)).accepts(wanted, NOTHING_UNDEFINED);
  });
}

function adjusted(priceMicroUsd: number, { spec }: NodeOverlay): number {
  if (spec.price !== undefined) return Math.round(Number(spec.price) * MICRO);
  const text = spec.priceAdjustment as string;
  const amount = Number.parseFloat(text);
  const after = text.endsWith("%")
    ? priceMicroUsd * (1 + amount / 100)
    : priceMicroUsd + amount * MICRO;
  return Math.max(0, Math.round(after));
}

function overlaid(
  type: InstanceType,
  labels: OverlaidPool["labels"],
  accepted: readonly NodeOverlay[],
): InstanceType {
  const winners = new Map<Offering, NodeOverlay>();
  /** Prices that overlays set for offerings for which the cloud reports no price. */
  const given = new Map<Offering, number>();
  const added: Record<string, number> = {};
  for (const overlay of accepted) {
    const offerings = matching(overlay, type, labels);
    if (offerings.length === 0) continue;
    for (const offering of setsPrice(overlay) ? offerings : []) {
      if (!winners.has(offering)) winners.set(offering, overlay);
      if (overlay.spec.price !== undefined && !given.has(offering))
        given.set(offering, adjusted(0, overlay));
    }
    for (const [resource, amount] of Object.entries(parseResources(overlay.spec.capacity)))
      added[resource] ??= amount;
  }
  const isCapacityOverlaid = Object.keys(added).length > 0;
  if (winners.size === 0 && !isCapacityOverlaid) return type;
  return {
    ...type,
    ...(isCapacityOverlaid
      ? { capacity: { ...type.capacity, ...added }, isCapacityOverlaid: true as const }
      : {}),
    offerings: type.offerings.map((offering) => {
      const winner = winners.get(offering);
      const { isUnpriced, ...priced } = offering;
      const cost = isUnpriced ? given.get(offering) : offering.priceMicroUsd;
      if (winner === undefined || cost === undefined) return offering;
      return {
        ...priced,
        ...(isUnpriced ? { available: true } : {}),
        priceMicroUsd: adjusted(cost, winner),
        isPriceOverlaid: true as const,
      };
    }),
  };
}

function offeringId({ zone, capacityType, labels = {} }: Offering): string {
  return `price ${zone} ${capacityType} ${JSON.stringify(labels)}`;
}

function weightOf({ spec }: NodeOverlay): number {
  return spec.weight ?? 0;
}

/** Sorts overlays by weight, the highest first; equal weights by name, the later name first. */
function heaviestFirst(a: NodeOverlay, b: NodeOverlay): number {
  return weightOf(b) - weightOf(a) || (a.metadata.name > b.metadata.name ? -1 : 1);
}
