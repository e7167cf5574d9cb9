/** Answers that are worked out once each and kept, up to a number of them: what users send must not fill memory. */

const MOST = 2_000;

/** Remembers what `make` makes of a text. Beyond `most` answers the one that was made first is forgotten. */
export class Memo<T> {
  readonly #answers = new Map<string, T>();
  readonly #make: (text: string) => T;
  readonly #most: number;

  constructor(make: (text: string) => T, most: number = MOST) {
    this.#make = make;
    this.#most = most;
  }

  get(text: string): T {
    const known = this.#answers.get(text);
    if (known !== undefined) return known;
    const made = this.#make(text);
    if (this.#answers.size >= this.#most) {
      const [first] = this.#answers.keys();
      if (first !== undefined) this.#answers.delete(first);
    }
    this.#answers.set(text, made);
    return made;
  }
}
