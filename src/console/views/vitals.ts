/**
 * The controller's health over time: a few numbers from its metrics. Each is the value at a moment, or the
 * increase since the moment before. A number that the metrics do not have is absent, never 0.
 */
import type { View } from "./view.ts";

/** Running totals and present values, as metrics have them. Times are in seconds. */
export interface VitalReading {
  /** The time on the cluster's clock. */
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

/** One point in the charts. Rates are for each second of the cluster's clock. */
export interface VitalPoint {
  readonly atMs: number;
  readonly queued?: number;
  readonly unsyncedS?: number;
  readonly leader?: number;
  readonly memoryBytes?: number;
  /**
   * Mean seconds for which objects waited in the controllers' work queues, since the last point. Absent: none waited.
   */
  readonly waitedS?: number;
  readonly plannedS?: number;
  readonly apiCalls?: number;
  readonly apiErrors?: number;
  readonly cloudCalls?: number;
  readonly cloudErrors?: number;
}

/**
 * The point at `now`. Undefined if no time has passed. A total that became smaller, because the process
 * restarted, is absent.
 */
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

/** Maximum number of points: six hours with one point every 15 seconds. A point takes about 300 bytes. */
const MOST_POINTS = 1_440;

/** Adds a point at the end. If there are too many points, every second one in the older half is dropped. */
export function withVital(points: readonly VitalPoint[], point: VitalPoint): readonly VitalPoint[] {
  const all = [...points, point];
  if (all.length <= MOST_POINTS) return all;
  const half = Math.floor(all.length / 2);
  return all.filter((_, index) => index >= half || index % 2 === 0);
}

/**
 * One row for each point, by time. With `undefined`, the view says that the controller's metrics cannot be
 * read.
 */
export function vitalsView(
  points: readonly VitalPoint[] | undefined,
): View<{ readonly isKnown: boolean }, VitalPoint> {
  return {
    head: { isKnown: points !== undefined },
    rows: new Map((points ?? []).map((point) => [String(point.atMs), point])),
  };
}
