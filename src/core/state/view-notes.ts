/**
 * What is found out of a node's view, kept with the view: views never change. A WeakMap would do as well, but
 * the garbage collector goes through all its entries while everybody waits, and there are a hundred
 * thousand views. A copy of a view, which may differ, has none of its notes.
 */

const NOTES = Symbol("notes");
/** So many kinds of notes there are. */
let kinds = 0;

interface Noted {
  readonly [NOTES]?: unknown[];
}

/** One kind of notes on views of nodes. To be made once, not once a view. */
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
