/**
 * Replaces two bins (nodes) by one larger bin that costs no more. Rounding often leaves the last two bins half full.
 */
import { MOST_MERGES_TRIED } from "../settings.ts";
import {
  addTimes,
  type Bin,
  holds,
  type Packing,
  type Pattern,
  type PatternUse,
  type Row,
} from "./packing.ts";

/** Tries bins whose pattern is used once, the cheapest first, and merges each with the bin where that saves most. */
export function mergeBins(packing: Packing, uses: readonly PatternUse[]): readonly PatternUse[] {
  let merged = [...uses];
  const price = ({ pattern }: PatternUse) => (packing.bins[pattern.bin] as Bin).price;
  const single = uses.filter(({ bins }) => bins === 1).sort((a, b) => price(a) - price(b));
  const byPrice = [...packing.bins.keys()].sort(
    (a, b) => (packing.bins[a] as Bin).price - (packing.bins[b] as Bin).price || a - b,
  );
  const isFree = packing.rows.every(({ perBin }) => perBin === undefined);
  const together = new Float64Array(packing.dimensions);
  const amounts = new Map(merged.map(({ pattern }) => [pattern, amountsOf(packing, pattern)]));
  for (const one of single.slice(0, MOST_MERGES_TRIED)) {
    if (!merged.includes(one)) continue;
    const own = amounts.get(one.pattern) as Float64Array;
    let best: { readonly other: PatternUse; readonly bin: number } | undefined;
    let most = 0;
    for (const other of merged) {
      if (other === one) continue;
      if (!isFree && !isWithinPerBin(packing, contentOf(one.pattern, other.pattern))) continue;
      addInto(together, own, amounts.get(other.pattern) as Float64Array);
      const all = price(one) + price(other);
      const bin = byPrice.find((index) => {
        const bin = packing.bins[index] as Bin;
        return bin.price > all || (holds(bin.amounts, together) && mayHold(bin, one, other));
      });
      if (bin === undefined) continue;
      const saved = all - (packing.bins[bin] as Bin).price;
      if (saved < 0 || (best !== undefined && saved <= most)) continue;
      [best, most] = [{ other, bin }, saved];
    }
    if (best === undefined) continue;
    const { other, bin } = best;
    const pattern = { bin, ...contentOf(one.pattern, other.pattern) };
    amounts.set(pattern, amountsOf(packing, pattern));
    merged = merged.filter((use) => use !== one && use !== other);
    merged.push({ pattern, bins: 1 });
    if (other.bins > 1) merged.push({ pattern: other.pattern, bins: other.bins - 1 });
  }
  return merged;
}

function amountsOf({ rows, dimensions }: Packing, pattern: Pattern): Float64Array {
  const sum = new Float64Array(dimensions);
  pattern.rows.forEach((index, at) => {
    addTimes(sum, (rows[index] as Row).amounts, pattern.times[at] as number);
  });
  return sum;
}

function addInto(sum: Float64Array, a: Float64Array, b: Float64Array): void {
  for (let d = 0; d < sum.length; d++) sum[d] = (a[d] as number) + (b[d] as number);
}

function mayHold({ rows }: Bin, ...uses: readonly PatternUse[]): boolean {
  return uses.every(({ pattern }) => pattern.rows.every((row) => rows.includes(row)));
}

/** Whether one bin may hold these numbers of items under the `perBin` limits of the rows. */
function isWithinPerBin({ rows: all }: Packing, { rows, times }: Omit<Pattern, "bin">): boolean {
  return rows.every((row, at) => {
    const { perBin } = all[row] as Row;
    return perBin === undefined || (times[at] as number) <= perBin;
  });
}

function contentOf(...patterns: readonly Pattern[]): Omit<Pattern, "bin"> {
  const times = new Map<number, number>();
  for (const pattern of patterns)
    pattern.rows.forEach((row, at) => {
      times.set(row, (times.get(row) ?? 0) + (pattern.times[at] as number));
    });
  return { rows: [...times.keys()], times: [...times.values()] };
}
