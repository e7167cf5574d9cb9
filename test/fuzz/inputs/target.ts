/** What is fuzzed: a part of the product that reads a text from outside, and the errors that it may answer with. */
import type { Random } from "../../../src/base/random.ts";

export interface Target {
  readonly name: string;
  /** Number of inputs in `npm test`. */
  readonly quick: number;
  /** A hostile text, or a valid one. */
  readonly draw: (random: Random) => string;
  /** Throws or rejects if the input is refused. A returned value is a fault of the answer. */
  readonly run: (text: string) => unknown;
  /** Errors that count as an answer: they name what is wrong with the input. */
  readonly expected: readonly (abstract new (
    ...args: never[]
  ) => Error)[];
}
