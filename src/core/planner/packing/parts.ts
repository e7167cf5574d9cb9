/**
 * Rows that can share no bin have nothing to do with each other, pods of different zones above all: each part of
 * a packing is packed as if it were the whole, which takes far less work than all of them at once.
 */
import { assert } from "../../../base/assert.ts";
import type { Packing, Use } from "./packing.ts";

export interface Part {
  readonly packing: Packing;
  /** Its rows, as rows of the whole. */
  readonly rows: readonly number[];
  /** How many items. */
  readonly count: number;
  /** As uses of the whole packing. */
  readonly inWhole: (uses: readonly Use[]) => readonly Use[];
}

/** One part: the packing as it is. */
export function partsOf(packing: Packing): readonly Part[] {
  const partOf = linked(packing);
  const names = [...new Set(partOf)];
  if (names.length <= 1) {
    const rows = packing.rows.map((_, index) => index);
    return [partAs(packing, rows, (uses) => uses)];
  }
  return names.map((name) => {
    const rows = indicesWhere(packing.rows, (_, index) => partOf[index] === name);
    const bins = indicesWhere(packing.bins, (bin) => partOf[bin.rows[0] as number] === name);
    return selected(packing, rows, bins);
  });
}

/** So many rows and more are divided, into shares of about so many. */
const MANY_ROWS = 200;
const ROWS_OF_SHARE = 40;

/**
 * The part, or shares of it where it is hundreds of rows, to be packed each for itself. They are alike: rows are
 * dealt out in turn by their shape, so that what goes well together is in each. A few bins of each stay half empty,
 * which costs less than a search that is cut short.
 */
export function sharesOf(part: Part): readonly Part[] {
  const { rows, bins } = part.packing;
  if (rows.length < MANY_ROWS) return [part];
  const shapes = rows.map(({ amounts }) => (amounts[0] as number) / ((amounts[1] as number) + 1));
  const byShape = [...rows.keys()].sort(
    (a, b) => (shapes[a] as number) - (shapes[b] as number) || a - b,
  );
  const all = [...bins.keys()];
  const shares = Math.ceil(rows.length / ROWS_OF_SHARE);
  return Array.from({ length: shares }, (_, share) => {
    const own = byShape.filter((_, at) => at % shares === share);
    const { packing, rows: inPart, count, inWhole } = selected(part.packing, own, all);
    return {
      packing,
      rows: inPart.map((row) => part.rows[row] as number),
      count,
      inWhole: (uses) => part.inWhole(inWhole(uses)),
    };
  });
}

/** For each row the first one that it is linked to by bins, or by rows that are. */
function linked({ rows, bins }: Packing): readonly number[] {
  const partOf = rows.map((_, index) => index);
  for (const list of new Set(bins.map((bin) => bin.rows))) {
    const joined = new Set(list.map((row) => partOf[row] as number));
    if (joined.size <= 1) continue;
    const first = Math.min(...joined);
    partOf.forEach((part, index) => {
      if (joined.has(part)) partOf[index] = first;
    });
  }
  return partOf;
}

function indicesWhere<T>(list: readonly T[], is: (one: T, index: number) => boolean): number[] {
  return list.flatMap((one, index) => (is(one, index) ? [index] : []));
}

function partAs(packing: Packing, rows: readonly number[], inWhole: Part["inWhole"]): Part {
  return {
    packing,
    rows,
    count: packing.rows.reduce((sum, { count }) => sum + count, 0),
    inWhole,
  };
}

/** `rows`, `bins`: which ones of the whole. */
function selected(whole: Packing, rows: readonly number[], bins: readonly number[]): Part {
  const at = new Map(rows.map((row, index) => [row, index]));
  // Bins of one set share their list, in the part too.
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
      assert(bin !== undefined, "a part's bins are the whole's");
      return { amounts: bin.amounts, price: bin.price, rows: own(bin.rows) };
    }),
    dimensions: whole.dimensions,
    slots: whole.slots ?? 0,
  };
  return partAs(part, rows, (uses) =>
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
