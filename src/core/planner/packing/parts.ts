/**
 * Divides a packing into independent parts. Rows (sets of equal pods) that no bin may hold together, such as pods of
 * different zones, do not affect each other. Parts take far less work to pack than the whole.
 */
import { assert } from "../../../base/assert.ts";
import type { Packing, PatternUse } from "./packing.ts";

export interface PackingPart {
  readonly packing: Packing;
  /** For each row of the part: its index in the whole packing. */
  readonly rows: readonly number[];
  readonly count: number;
  /** Translates a solution of the part into one of the whole packing. */
  readonly inWhole: (uses: readonly PatternUse[]) => readonly PatternUse[];
}

/** The independent parts of a packing. A packing that cannot be divided is its own only part. */
export function partsOf(packing: Packing): readonly PackingPart[] {
  const firstRows = linked(packing);
  const firsts = [...new Set(firstRows)];
  if (firsts.length <= 1) {
    const rows = packing.rows.map((_, index) => index);
    return [partOf(packing, rows, (uses) => uses)];
  }
  return firsts.map((first) => {
    const rows = indicesWhere(packing.rows, (_, index) => firstRows[index] === first);
    const bins = indicesWhere(packing.bins, (bin) => firstRows[bin.rows[0] as number] === first);
    return selected(packing, rows, bins);
  });
}

/** For each row: the first row of its part. Rows that some bin may hold together belong to one part. */
function linked({ rows, bins }: Packing): readonly number[] {
  const firstRows = rows.map((_, index) => index);
  for (const list of new Set(bins.map((bin) => bin.rows))) {
    const joined = new Set(list.map((row) => firstRows[row] as number));
    if (joined.size <= 1) continue;
    const first = Math.min(...joined);
    firstRows.forEach((known, index) => {
      if (joined.has(known)) firstRows[index] = first;
    });
  }
  return firstRows;
}

function indicesWhere<T>(list: readonly T[], is: (one: T, index: number) => boolean): number[] {
  return list.flatMap((one, index) => (is(one, index) ? [index] : []));
}

function partOf(
  packing: Packing,
  rows: readonly number[],
  inWhole: PackingPart["inWhole"],
): PackingPart {
  return {
    packing,
    rows,
    count: packing.rows.reduce((sum, { count }) => sum + count, 0),
    inWhole,
  };
}

function selected(whole: Packing, rows: readonly number[], bins: readonly number[]): PackingPart {
  const at = new Map(rows.map((row, index) => [row, index]));
  // Kinds of bins with equal rows share one array in the part, too.
  const lists = new Map<readonly number[], readonly number[]>();
  const own = (list: readonly number[]) => {
    const known = lists.get(list) ?? list.flatMap((row) => at.get(row) ?? []);
    lists.set(list, known);
    return known;
  };
  const part: Packing = {
    rows: rows.map((row) => whole.rows[row] as Packing["rows"][number]),
    bins: bins.map((index) => {
      const bin = whole.bins[index];
      assert(bin !== undefined, "the bins of a part are bins of the whole");
      return { amounts: bin.amounts, price: bin.price, rows: own(bin.rows) };
    }),
    dimensions: whole.dimensions,
    hostDimensions: whole.hostDimensions ?? 0,
  };
  return partOf(part, rows, (uses) =>
    uses.map(({ pattern, bins: count }) => ({
      pattern: {
        bin: bins[pattern.bin] as number,
        rows: pattern.rows.map((row) => rows[row] as number),
        times: pattern.times,
      },
      bins: count,
    })),
  );
}
