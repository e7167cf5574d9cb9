/**
 * Remembers the smallest fixes that were found for some pods, to find fixes for other pods with fewer plans. If a
 * lowered request was enough for some pods, it is mostly enough for pods with similar requests. Only edits of requests
 * are stored: plans with edits of pools are shared between pods anyway.
 */
import type { Edit } from "./edits.ts";

type Lowered = Extract<Edit, { readonly change: "request" }>;

/** The smallest fixes that consist of lowered requests. */
export class KnownFixes {
  /** The latest fix for each set of edited fields. */
  readonly #least = new Map<string, readonly Lowered[]>();

  add(edits: readonly Edit[]): void {
    if (areLowered(edits)) this.#least.set(shapeOf(edits), edits);
  }

  /**
   * The same edits with the amounts that were enough for other pods. Undefined: no such amounts are known, or they
   * change as much as the given ones.
   */
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

/** The edited fields as a text, without the amounts. */
function shapeOf(edits: readonly Lowered[]): string {
  return JSON.stringify(edits.map(({ from: _, to: __, ...where }) => where));
}
