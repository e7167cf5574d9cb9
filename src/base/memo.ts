/** Keeps a limited number of computed results, so that texts sent by users cannot fill the memory. */

const MOST = 2_000;

/** Keeps the result of `make` for each text. If there are more than `most` results, the oldest one is dropped. */
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
