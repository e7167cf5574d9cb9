/**
 * Fewer nodes for no more money: what a bin that is used once holds goes together with what another one
 * holds into a larger bin, where there is one that costs no more than the two. Patterns are found one by
 * one and rounded; the last of them are often such halves.
 */
import { type Bin, holds, type Packing, type Pattern, type Row, type Use } from "./packing.ts";

/** Bins that are tried: those with least in them. */
const MOST_TRIED = 16;

export function merge(packing: Packing, uses: readonly Use[]): readonly Use[] {
  let merged = [...uses];
  const price = ({ pattern }: Use) => (packing.bins[pattern.bin] as Bin).price;
  const single = uses.filter(({ bins }) => bins === 1).sort((a, b) => price(a) - price(b));
  for (const one of single.slice(0, MOST_TRIED)) {
    if (!merged.includes(one)) continue;
    let best: { readonly other: Use; readonly pattern: Pattern } | undefined;
    let most = 0;
    for (const other of merged) {
      if (other === one) continue;
      const pattern = inOneBin(packing, one.pattern, other.pattern, price(one) + price(other));
      if (pattern === undefined) continue;
      const saved = price(one) + price(other) - (packing.bins[pattern.bin] as Bin).price;
      if (best !== undefined && saved <= most) continue;
      [best, most] = [{ other, pattern }, saved];
    }
    if (best === undefined) continue;
    const { other, pattern } = best;
    merged = merged.filter((use) => use !== one && use !== other);
    merged.push({ pattern, bins: 1 });
    if (other.bins > 1) merged.push({ pattern: other.pattern, bins: other.bins - 1 });
  }
  return merged;
}

/** The cheapest bin that holds what both hold, for no more than `mostPrice`. */
function inOneBin(
  { rows, bins, dimensions }: Packing,
  a: Pattern,
  b: Pattern,
  mostPrice: number,
): Pattern | undefined {
  const times = new Map<number, number>();
  const amounts = new Float64Array(dimensions);
  for (const { rows: own, times: counts } of [a, b]) {
    own.forEach((index, at) => {
      const count = counts[at] as number;
      times.set(index, (times.get(index) ?? 0) + count);
      const row = rows[index] as Row;
      for (let d = 0; d < dimensions; d++)
        amounts[d] = (amounts[d] as number) + (row.amounts[d] as number) * count;
    });
  }
  let best: number | undefined;
  let least = mostPrice;
  const held = [...times.keys()];
  bins.forEach((bin, index) => {
    if (bin.price > least || (best !== undefined && bin.price === least)) return;
    if (!holds(bin.amounts, amounts) || !held.every((row) => bin.rows.includes(row))) return;
    [best, least] = [index, bin.price];
  });
  return best === undefined ? undefined : { bin: best, rows: held, times: [...times.values()] };
}
