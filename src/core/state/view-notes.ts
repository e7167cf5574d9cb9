/**
 * Caches facts that are computed from a node's view, on the view object itself. Views never change. A WeakMap would be
 * slower: the garbage collector reads all its entries during pauses, and there may be 100,000 views. A copy of a view
 * may differ from it, so the copy does not get the cached facts.
 */

const NOTES = Symbol("notes");
/** How many kinds of facts are cached: one for each object of {@link ViewNotes}. */
let kinds = 0;

interface Noted {
  readonly [NOTES]?: unknown[];
}

/** The cache of one kind of fact. Create one object for all views, not one for each view. */
export class ViewNotes<T> {
  readonly #at = kinds++;

  get(view: object): T | undefined {
    return (view as Noted)[NOTES]?.[this.#at] as T | undefined;
  }

  set(view: object, note: T): void {
    const notes = (view as Noted)[NOTES];
    if (notes !== undefined) notes[this.#at] = note;
    else {
      const fresh: unknown[] = new Array(kinds).fill(undefined);
      fresh[this.#at] = note;
      Object.defineProperty(view, NOTES, { value: fresh });
    }
  }
}
