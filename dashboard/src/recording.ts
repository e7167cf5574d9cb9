/**
 * The last hours of map and money, as moments to which the page can go back. Memory is limited by the number of
 * rows, not by time.
 */
import type { MapHead, MapRow, MoneyHead, MoneyRow } from "./wire.ts";

export interface Shown<Head, Row> {
  readonly head: Head | undefined;
  readonly rows: ReadonlyMap<string, Row>;
}

/** A recorded state of the page. Rows that did not change are the same objects in every moment. */
export interface Moment {
  readonly atMs: number;
  readonly map: Shown<MapHead, MapRow>;
  readonly money: Shown<MoneyHead, MoneyRow>;
}

/**
 * Maximum number of rows of all moments together, which take at most 30 MB (`npx tsx
 * dashboard/test/time-bar-memory.ts`).
 */
const MOST_ENTRIES = 600_000;
const MOST_MOMENTS = 720;
const FEWEST_MOMENTS = 24;

/** Adds a moment at the end. If there are too many moments, every second one in the older half is dropped. */
export function withMoment(moments: readonly Moment[], moment: Moment): readonly Moment[] {
  const last = moments.at(-1);
  if (
    last !== undefined &&
    last.map.rows === moment.map.rows &&
    last.money.rows === moment.money.rows
  )
    return moments;
  const all = [...moments.filter(({ atMs }) => atMs < moment.atMs), moment];
  const each = Math.max(1, moment.map.rows.size);
  const most = Math.min(MOST_MOMENTS, Math.max(FEWEST_MOMENTS, Math.floor(MOST_ENTRIES / each)));
  if (all.length <= most) return all;
  const half = Math.floor(all.length / 2);
  return all.filter((_, index) => index === 0 || index >= half || index % 2 === 0);
}

/** The last moment at or before `atMs`, or the first one if all are later. */
export function momentAt(moments: readonly Moment[], atMs: number): Moment | undefined {
  let low = 0;
  let high = moments.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((moments[middle] as Moment).atMs <= atMs) low = middle;
    else high = middle - 1;
  }
  return moments[low];
}
