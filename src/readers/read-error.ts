/** The error that all readers throw. Its message is written for users. */
import type { TextLimits } from "./limits.ts";

/** The text to read: its name for error messages, and its limits. */
export interface TextSource {
  /** The name of the file or field for the user: `pods.yaml`, `spec.userData`. */
  readonly source: string;
  readonly limits: TextLimits;
}

/** A place in a text. Lines and columns count from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * A text that cannot be read. `message` is one line that names the source. `problem` is the same without the source.
 */
export class ReadError extends Error {
  override readonly name = "ReadError";
  readonly problem: string;

  constructor(source: string, problem: string) {
    super(`${source}: ${problem}`);
    this.problem = problem;
  }
}

/** Throws ReadError if the text is longer than its limit. */
export function checkLength(text: string, { source, limits }: TextSource): void {
  if (text.length <= limits.characters) return;
  const most = limits.characters.toLocaleString("en-US");
  throw new ReadError(
    source,
    `has ${text.length.toLocaleString("en-US")} characters, and at most ${most} are read here; ${limits.remedy}`,
  );
}

/** The line and column of an offset in the text. */
export function placeAt(text: string, offset: number): TextPlace {
  let [line, start] = [1, 0];
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: offset - start + 1 };
}
