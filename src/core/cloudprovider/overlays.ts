/**
 * NodeOverlays laid over the instance types of a pool: other prices, further extended resources. The
 * heaviest overlay that touches a price or a resource wins; two of one weight that touch the same are in
 * conflict, and the later one has no effect at all. upstream: pkg/controllers/nodeoverlay
 */
import type { Pool } from "../../apis/hub/pool.ts";
import { CAPACITY_TYPE_LABEL_KEY, TOPOLOGY_ZONE_LABEL_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeOverlay } from "../../apis/karpenter/nodeoverlay.ts";
import { parseResources, type Resources } from "../../apis/resources.ts";
import { oneOf } from "../scheduling/requirement.ts";
import { Requirements } from "../scheduling/requirements.ts";
import type { InstanceType, Offering } from "./instance-type.ts";

export interface OverlaidPool {
  readonly pool: Pool;
  /** Labels that each node of the pool carries. */
  readonly labels: Readonly<Record<string, string>>;
  readonly instanceTypes: readonly InstanceType[];
}

export interface Overlaid {
  /** By `Pool.id`. */
  readonly instanceTypes: ReadonlyMap<string, readonly InstanceType[]>;
  /** Name of an overlay without effect → why: `RuntimeValidation` or `Conflict`. */
  readonly rejected: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
}

/** Who has set a price or a resource. */
type Marks = Map<string, { readonly weight: number }>;

const NOTHING_UNDEFINED: ReadonlySet<string> = new Set();
const MICRO = 1_000_000;
const FIXED = ["cpu", "memory", "ephemeral-storage", "pods"];

/** Evaluates all overlays over all pools; the order of the lists does not matter. */
export function applyOverlays(
  pools: readonly OverlaidPool[],
  overlays: readonly NodeOverlay[],
): Overlaid {
  const rejected = new Map<string, { reason: string; message: string }>();
  const marks: Marks = new Map();
  const prices = new Map<string, number>();
  const capacities = new Map<string, Resources>();
  for (const overlay of [...overlays].sort(heaviestFirst)) {
    const problem = overlayProblem(overlay);
    if (problem !== undefined) {
      rejected.set(overlay.metadata.name, { reason: "RuntimeValidation", message: problem });
      continue;
    }
    const touched = pools.flatMap((one) => touchedBy(overlay, one));
    const weight = weightOf(overlay);
    if (touched.some(({ id }) => marks.get(id)?.weight === weight)) {
      const message = "conflict with another overlay";
      rejected.set(overlay.metadata.name, { reason: "Conflict", message });
      continue;
    }
    for (const { id, value, of, resource } of touched) {
      if (marks.has(id)) continue;
      marks.set(id, { weight });
      if (resource === undefined) prices.set(id, value);
      else capacities.set(of, { ...capacities.get(of), [resource]: value });
    }
  }
  const instanceTypes = new Map(
    pools.map(({ pool, instanceTypes: types }) => [
      pool.id,
      types.map((type) => overlaid(pool.id, type, prices, capacities)),
    ]),
  );
  return { instanceTypes, rejected };
}

/** What the schema cannot say; undefined = in order. */
export function overlayProblem({ spec }: NodeOverlay): string | undefined {
  if (spec.price !== undefined && spec.priceAdjustment !== undefined)
    return "cannot set both 'price' and 'priceAdjustment'";
  const adjustment = spec.priceAdjustment;
  if (adjustment !== undefined && !/^[+-]\d+(\.\d+)?%?$/.test(adjustment))
    return `spec.priceAdjustment: "${adjustment}" is neither an amount such as +0.5 nor a share such as -10%`;
  if (adjustment?.endsWith("%") && Number.parseFloat(adjustment) < -100)
    return `spec.priceAdjustment: "${adjustment}" is below -100%`;
  if (spec.price !== undefined && !/^\d+(\.\d+)?$/.test(spec.price))
    return `spec.price: "${spec.price}" is not an amount of dollars an hour`;
  const fixed = Object.keys(spec.capacity ?? {}).find((name) => FIXED.includes(name));
  if (fixed !== undefined)
    return `spec.capacity.${fixed}: only extended resources can be set, ${fixed} is the cloud's to tell`;
  return undefined;
}

interface Touched {
  readonly id: string;
  /** Pool and type. */
  readonly of: string;
  /** Absent: the price of an offering. */
  readonly resource?: string;
  readonly value: number;
}

function touchedBy(overlay: NodeOverlay, { pool, labels, instanceTypes }: OverlaidPool): Touched[] {
  const wanted = Requirements.fromSpecs(overlay.spec.requirements);
  const { price, priceAdjustment, capacity } = overlay.spec;
  const resources = Object.entries(parseResources(capacity));
  const touched: Touched[] = [];
  for (const type of instanceTypes) {
    const own = Object.entries(type.labels).map(([key, values]) => oneOf(key, values));
    const described = Requirements.fromLabels(labels).and(Requirements.of(own));
    const offerings = type.offerings.filter((one) => matches(described, one, wanted));
    if (offerings.length === 0) continue;
    const of = `${pool.id} ${type.name}`;
    if (price !== undefined || priceAdjustment !== undefined) {
      for (const offering of offerings) {
        const value = adjusted(offering.priceMicroUsd, overlay);
        touched.push({ id: priceId(pool.id, type, offering), of, value });
      }
    }
    for (const [resource, value] of resources)
      touched.push({ id: `${of} ${resource}`, of, resource, value });
  }
  return touched;
}

/** Pool, type and offering must define all that the overlay asks for. */
function matches(described: Requirements, offering: Offering, wanted: Requirements): boolean {
  const labels = {
    ...offering.labels,
    [TOPOLOGY_ZONE_LABEL_KEY]: offering.zone,
    [CAPACITY_TYPE_LABEL_KEY]: offering.capacityType,
  };
  return described.replacing(Requirements.fromLabels(labels)).accepts(wanted, NOTHING_UNDEFINED);
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
  poolId: string,
  type: InstanceType,
  prices: ReadonlyMap<string, number>,
  capacities: ReadonlyMap<string, Resources>,
): InstanceType {
  const added = capacities.get(`${poolId} ${type.name}`) ?? {};
  const offerings = type.offerings.map((offering) => {
    const priceMicroUsd = prices.get(priceId(poolId, type, offering));
    return priceMicroUsd === undefined ? offering : { ...offering, priceMicroUsd };
  });
  const same = offerings.every((one, index) => one === type.offerings[index]);
  if (same && Object.keys(added).length === 0) return type;
  return { ...type, capacity: { ...type.capacity, ...added }, offerings };
}

function priceId(poolId: string, { name }: InstanceType, offering: Offering): string {
  const { zone, capacityType, labels = {} } = offering;
  return `price ${poolId} ${name} ${zone} ${capacityType} ${JSON.stringify(labels)}`;
}

function weightOf({ spec }: NodeOverlay): number {
  return spec.weight ?? 0;
}

/** By weight; equals by name, the later one first. */
function heaviestFirst(a: NodeOverlay, b: NodeOverlay): number {
  return weightOf(b) - weightOf(a) || (a.metadata.name > b.metadata.name ? -1 : 1);
}
