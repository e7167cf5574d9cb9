/** What the fleet costs an hour, by NodePool and capacity type; and how that changed while somebody looked. */
import type { Fleet } from "../../core/answers/fleet.ts";
import type { View } from "./view.ts";

export interface MoneyHead {
  readonly priceMicroUsdPerHour: number;
  readonly unpriced: number;
}

/** What the fleet cost at one moment at which somebody looked. */
export interface PricePoint {
  /** By the cluster's clock. */
  readonly atMs: number;
  readonly priceMicroUsdPerHour: number;
  /** By capacity type. */
  readonly parts: Readonly<Record<string, number>>;
  /** By NodePool. */
  readonly pools: Readonly<Record<string, number>>;
  /** What it must cost at least; absent: nobody looked at that. */
  readonly least?: number;
}

export interface MoneyRow {
  readonly pool: string;
  readonly capacity: string;
  readonly nodes: number;
  readonly unpriced: number;
  readonly priceMicroUsdPerHour: number;
  /**
   * What is paid for room that no pod requests: of each node the smaller of its free shares of cpu and memory.
   */
  readonly idleMicroUsdPerHour: number;
}

/** A row per NodePool and capacity type. */
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

/** A row while it is added up. */
type Sum = { -readonly [K in keyof MoneyRow]: MoneyRow[K] };

const NOTHING = { nodes: 0, unpriced: 0, priceMicroUsdPerHour: 0, idleMicroUsdPerHour: 0 };

/** The points by their time, oldest first. */
export function historyView(
  points: readonly PricePoint[],
): View<Record<string, never>, PricePoint> {
  return { head: {}, rows: new Map(points.map((point) => [String(point.atMs), point])) };
}

function freeShare(node: Fleet["nodes"][number]): number {
  return Math.min(freeOf(node, "cpu"), freeOf(node, "memory"));
}

function freeOf({ requested, allocatable }: Fleet["nodes"][number], name: string): number {
  const there = allocatable[name] ?? 0;
  return there === 0 ? 1 : Math.max(0, 1 - (requested[name] ?? 0) / there);
}

/** For {@link historyView}. */
export function pricePoint(
  { nodes, pools, totals }: Fleet,
  atMs: number,
  least?: number,
): PricePoint {
  const parts: Record<string, number> = {};
  for (const { state, capacityType, priceMicroUsdPerHour = 0 } of nodes) {
    if (state === "unmanaged" || capacityType === undefined) continue;
    parts[capacityType] = (parts[capacityType] ?? 0) + priceMicroUsdPerHour;
  }
  return {
    atMs,
    priceMicroUsdPerHour: totals.priceMicroUsdPerHour,
    parts,
    pools: Object.fromEntries(pools.map((pool) => [pool.name, pool.priceMicroUsdPerHour])),
    ...(least === undefined ? {} : { least }),
  };
}

/** Points that are kept. */
const MOST_POINTS = 1_000;

/** With the new point at the end. Where there are too many, every second one of the older half is dropped. */
export function withPoint(
  history: readonly PricePoint[],
  point: PricePoint,
): readonly PricePoint[] {
  const all = [...history, point];
  if (all.length <= MOST_POINTS) return all;
  const half = Math.floor(all.length / 2);
  return all.filter((_, index) => index >= half || index % 2 === 0);
}
