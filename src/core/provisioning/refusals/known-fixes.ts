/**
 * Smallest fixes that were found before, to be tried for pods of another kind: a request that was lowered as far
 * as it had to be for one mostly does for pods that ask for about as much, and saves finding that out by halving.
 * Only requests: plans with edits of pools are made once for all kinds.
 */
import type { Edit } from "./edits.ts";

type Lowered = Extract<Edit, { readonly change: "request" }>;

export class KnownFixes {
  /** The latest of each shape. */
  readonly #least = new Map<string, readonly Lowered[]>();

  add(edits: readonly Edit[]): void {
    if (areLowered(edits)) this.#least.set(shapeOf(edits), edits);
  }

  /** The same edits, each as far as was enough for others; undefined: that is not known, or not less. */
  like(edits: readonly Edit[]): readonly Edit[] | undefined {
    const least = areLowered(edits) ? this.#least.get(shapeOf(edits)) : undefined;
    const like = (least ?? []).map(({ to }, at) => ({ ...(edits[at] as Lowered), to }));
    const isLess = like.every(({ from, to }, at) => to < from && to > (edits[at] as Lowered).to);
    return like.length > 0 && isLess ? like : undefined;
  }
}

function areLowered(edits: readonly Edit[]): edits is readonly Lowered[] {
  return edits.every(({ change }) => change === "request");
}

/** What is lowered where, whatever the amounts. */
function shapeOf(edits: readonly Lowered[]): string {
  return JSON.stringify(edits.map(({ from: _, to: __, ...where }) => where));
}
