/** What the nodes cost an hour, by NodePool and capacity type, and how that changed while the console was open. */
import { requestedShare } from "../../core/answers/costs.ts";
import type { Fleet } from "../../core/answers/fleet.ts";
import type { View } from "./view.ts";

export interface MoneyHead {
  readonly priceMicroUsdPerHour: number;
  readonly unpriced: number;
}

/** The cost at one moment. */
export interface PricePoint {
  /** The time on the cluster's clock. */
  readonly atMs: number;
  readonly priceMicroUsdPerHour: number;
  /** Cost by capacity type. A capacity type without known prices is absent. */
  readonly parts: Readonly<Record<string, number>>;
  /** Cost by NodePool. A NodePool without known prices is absent. */
  readonly pools: Readonly<Record<string, number>>;
  /**
   * Capacity types and NodePools that have nodes, but no known price. All others that are absent above have no node.
   * Absent: there are none.
   */
  readonly unknown?: {
    readonly parts: readonly string[];
    readonly pools: readonly string[];
  };
  /** The lower bound of the cost. Absent: no viewer had the view `costs` open. */
  readonly least?: number;
}

export interface MoneyRow {
  readonly pool: string;
  readonly capacity: string;
  readonly nodes: number;
  readonly unpriced: number;
  readonly priceMicroUsdPerHour: number;
  /**
   * The cost of room that no pod requests. For each node this is the mean of the free shares of cpu and memory, times
   * its price.
   */
  readonly idleMicroUsdPerHour: number;
}

/** One row for each NodePool and capacity type. */
export function moneyView({ nodes, totals }: Fleet): View<MoneyHead, MoneyRow> {
  const rows = new Map<string, Sum>();
  for (const node of nodes) {
    if (node.state === "unmanaged") continue;
    const { nodePool: pool = "", capacityType: capacity = "", priceMicroUsdPerHour } = node;
    const price = priceMicroUsdPerHour ?? 0;
    const key = `${pool}/${capacity}`;
    const row = rows.get(key) ?? { pool, capacity, ...NOTHING };
    row.nodes += 1;
    row.unpriced += priceMicroUsdPerHour === undefined ? 1 : 0;
    row.priceMicroUsdPerHour += price;
    row.idleMicroUsdPerHour += Math.round(price * freeShare(node));
    rows.set(key, row);
  }
  const { priceMicroUsdPerHour, unpriced } = totals;
  return { head: { priceMicroUsdPerHour, unpriced }, rows };
}

/** A row whose sums are still being added up. */
type Sum = { -readonly [K in keyof MoneyRow]: MoneyRow[K] };

const NOTHING = { nodes: 0, unpriced: 0, priceMicroUsdPerHour: 0, idleMicroUsdPerHour: 0 };

/** The points by time, oldest first. */
export function historyView(
  points: readonly PricePoint[],
): View<Record<string, never>, PricePoint> {
  return { head: {}, rows: new Map(points.map((point) => [String(point.atMs), point])) };
}

/** Like {@link requestedShare}, so that the idle costs of pools and of workloads have the same sum. */
function freeShare({ requested, allocatable }: Fleet["nodes"][number]): number {
  return Math.max(0, 1 - requestedShare(requested, allocatable));
}

/** A point for {@link historyView}. */
export function pricePoint(
  { nodes, pools, totals }: Fleet,
  atMs: number,
  least?: number,
): PricePoint {
  const parts: Record<string, number> = {};
  const types = new Set<string>();
  for (const { state, capacityType, priceMicroUsdPerHour: price } of nodes) {
    if (state === "unmanaged" || capacityType === undefined) continue;
    types.add(capacityType);
    // A capacity type of which no price is known has no part. 0 would say that it is free.
    if (price === undefined) continue;
    parts[capacityType] = (parts[capacityType] ?? 0) + price;
  }
  const priced = pools.filter(({ priceMicroUsdPerHour: price }) => price > 0);
  const unpriced = pools.filter(
    ({ priceMicroUsdPerHour: price, nodes: count }) => price === 0 && count > 0,
  );
  const unknown = {
    parts: [...types].filter((type) => parts[type] === undefined),
    pools: unpriced.map(({ name }) => name),
  };
  return {
    atMs,
    priceMicroUsdPerHour: totals.priceMicroUsdPerHour,
    parts,
    pools: Object.fromEntries(priced.map((pool) => [pool.name, pool.priceMicroUsdPerHour])),
    ...(unknown.parts.length === 0 && unknown.pools.length === 0 ? {} : { unknown }),
    ...(least === undefined ? {} : { least }),
  };
}

/** Maximum number of points that are kept. */
const MOST_POINTS = 1_000;

/** Adds a point at the end. If there are too many points, every second one in the older half is dropped. */
export function withPoint(
  history: readonly PricePoint[],
  point: PricePoint,
): readonly PricePoint[] {
  const all = [...history, point];
  if (all.length <= MOST_POINTS) return all;
  const half = Math.floor(all.length / 2);
  return all.filter((_, index) => index >= half || index % 2 === 0);
}
