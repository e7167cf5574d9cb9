/** What is fuzzed: a part of the product that takes a text from outside, and which errors it may answer with. */
import type { Random } from "../../../src/base/random.ts";

export interface Target {
  readonly name: string;
  /** Inputs of the quick set in `npm test`. */
  readonly quick: number;
  /** A hostile text, or a sound one. */
  readonly draw: (random: Random) => string;
  /** Throws or rejects where the input is refused. What it returns is a complaint about the answer. */
  readonly run: (text: string) => unknown;
  /** Errors that are an answer: they name what is wrong with the input. */
  readonly expected: readonly (abstract new (
    ...args: never[]
  ) => Error)[];
}
