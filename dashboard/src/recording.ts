/**
 * The last hours of map and money, as moments to which the page can go back. Memory is limited, not time: the more rows
 * change, the fewer moments are kept.
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

/** A moment, and about how much memory it takes in addition to the moment before it. */
export interface KeptMoment extends Moment {
  readonly bytes: number;
}

/** Memory of all moments together (`npx tsx dashboard/test/time-bar-memory.ts`). */
const MOST_BYTES = 64 * 2 ** 20;
/** Memory of a row's entry in the map of a moment. */
const ENTRY_BYTES = 48;
/** Memory of a row that the moment before does not have. */
const ROW_BYTES = 400;
const MOST_MOMENTS = 720;
const FEWEST_MOMENTS = 8;

/**
 * Adds a moment at the end. If all moments take too much memory, or are too many, every second one in the older half is
 * dropped. The moments that are left then share fewer rows.
 */
export function withMoment(moments: readonly KeptMoment[], moment: Moment): readonly KeptMoment[] {
  const last = moments.at(-1);
  if (
    last !== undefined &&
    last.map.rows === moment.map.rows &&
    last.money.rows === moment.money.rows
  )
    return moments;
  const before = moments.filter(({ atMs }) => atMs < moment.atMs);
  let all = [...before, keptAfter(before.at(-1), moment)];
  while (all.length > MOST_MOMENTS || (all.length > FEWEST_MOMENTS && bytesOf(all) > MOST_BYTES))
    all = thinned(all);
  return all;
}

function keptAfter(before: Moment | undefined, moment: Moment): KeptMoment {
  const { rows } = moment.map;
  let own = 0;
  for (const [key, row] of rows) if (before?.map.rows.get(key) !== row) own += 1;
  return { ...moment, bytes: rows.size * ENTRY_BYTES + own * ROW_BYTES };
}

function bytesOf(moments: readonly KeptMoment[]): number {
  return moments.reduce((sum, { bytes }) => sum + bytes, 0);
}

function thinned(moments: readonly KeptMoment[]): KeptMoment[] {
  const half = Math.floor(moments.length / 2);
  const left: KeptMoment[] = [];
  for (const [index, moment] of moments.entries()) {
    const isKept = index === 0 || index >= half || index % 2 === 0;
    // The moment before a kept one may have been dropped. Then its rows are compared with those of an earlier one.
    if (isKept) left.push(index > 1 && index <= half ? keptAfter(left.at(-1), moment) : moment);
  }
  return left;
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
