/**
 * Facts computed from a node's view, kept on the view, which never changes. A WeakMap is avoided: during its pauses the
 * garbage collector reads all entries, and there may be 100,000 views. A copy of a view may differ, so it has no notes.
 */

const NOTES = Symbol("notes");
/** Number of kinds of notes. */
let kinds = 0;

interface Noted {
  readonly [NOTES]?: unknown[];
}

/** One kind of notes. Create it once, not once for each view. */
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
