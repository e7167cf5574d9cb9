/**
 * How well the controller is, over time: a few numbers of its own metrics. Each is the value of a moment, or what came
 * since the moment before. What its metrics do not tell is absent, never 0.
 */
import type { View } from "./view.ts";

/** Running totals and values of one moment, as metrics have them. Times in seconds. */
export interface VitalReading {
  /** By the cluster's clock. */
  readonly atMs: number;
  readonly queued?: number;
  readonly unsyncedS?: number;
  readonly isLeader?: boolean;
  readonly memoryBytes?: number;
  readonly waited?: SumAndCount;
  readonly planned?: SumAndCount;
  readonly apiCalls?: number;
  readonly apiErrors?: number;
  readonly cloudCalls?: number;
  readonly cloudErrors?: number;
}

interface SumAndCount {
  readonly sum: number;
  readonly count: number;
}

/** One moment of the charts. Rates are a second of the cluster's clock. */
export interface VitalPoint {
  readonly atMs: number;
  readonly queued?: number;
  readonly unsyncedS?: number;
  readonly leader?: number;
  readonly memoryBytes?: number;
  /** Mean of what came since the point before; absent: nothing came. */
  readonly waitedS?: number;
  readonly plannedS?: number;
  readonly apiCalls?: number;
  readonly apiErrors?: number;
  readonly cloudCalls?: number;
  readonly cloudErrors?: number;
}

/** The point of `now`; undefined: no time has passed. A total that was more before, in another process, is absent. */
export function vitalPoint(before: VitalReading, now: VitalReading): VitalPoint | undefined {
  const seconds = (now.atMs - before.atMs) / 1_000;
  if (seconds <= 0) return undefined;
  const rate = (pick: (reading: VitalReading) => number | undefined): number | undefined => {
    const [was, is] = [pick(before), pick(now)];
    return is === undefined || is < (was ?? 0) ? undefined : (is - (was ?? 0)) / seconds;
  };
  const mean = (pick: (reading: VitalReading) => SumAndCount | undefined): number | undefined => {
    const [was, is] = [pick(before) ?? { sum: 0, count: 0 }, pick(now)];
    if (is === undefined || is.count <= was.count || is.sum < was.sum) return undefined;
    return (is.sum - was.sum) / (is.count - was.count);
  };
  return defined({
    atMs: now.atMs,
    queued: now.queued,
    unsyncedS: now.unsyncedS,
    leader: now.isLeader === undefined ? undefined : Number(now.isLeader),
    memoryBytes: now.memoryBytes,
    waitedS: mean(({ waited }) => waited),
    plannedS: mean(({ planned }) => planned),
    apiCalls: rate(({ apiCalls }) => apiCalls),
    apiErrors: rate(({ apiErrors }) => apiErrors),
    cloudCalls: rate(({ cloudCalls }) => cloudCalls),
    cloudErrors: rate(({ cloudErrors }) => cloudErrors),
  });
}

function defined(point: { readonly [K in keyof Required<VitalPoint>]: VitalPoint[K] | undefined }) {
  const known = Object.entries(point).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as unknown as VitalPoint;
}

/** Six hours at one point each 15 seconds; about 300 bytes each. */
const MOST_POINTS = 1_440;

/** With the point at the end. Where there are too many, every second one of the older half is dropped. */
export function withVital(points: readonly VitalPoint[], point: VitalPoint): readonly VitalPoint[] {
  const all = [...points, point];
  if (all.length <= MOST_POINTS) return all;
  const half = Math.floor(all.length / 2);
  return all.filter((_, index) => index >= half || index % 2 === 0);
}

/** A row per point, by its time. `undefined`: the console cannot read the controller's metrics. */
export function vitalsView(
  points: readonly VitalPoint[] | undefined,
): View<{ readonly isKnown: boolean }, VitalPoint> {
  return {
    head: { isKnown: points !== undefined },
    rows: new Map((points ?? []).map((point) => [String(point.atMs), point])),
  };
}
