/**
 * The smallest fixes that were found for other kinds of pods. If a lowered request was enough for one kind, it is
 * mostly enough for kinds with similar requests. So fewer plans are needed to find the amount. Only edits of requests
 * are stored: plans with edits of pools are shared between kinds anyway.
 */
import type { Edit } from "./edits.ts";

type Lowered = Extract<Edit, { readonly change: "request" }>;

export class KnownFixes {
  /** The latest fix for each set of edited fields. */
  readonly #least = new Map<string, readonly Lowered[]>();

  add(edits: readonly Edit[]): void {
    if (areLowered(edits)) this.#least.set(shapeOf(edits), edits);
  }

  /**
   * The same edits with the amounts that were enough for other kinds. Undefined: no amounts are known, or they are not
   * smaller.
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
