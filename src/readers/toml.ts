/** TOML, read and written. Nesting is bounded in values, by the parser, and in dotted keys, which it does not count. */
import { parse, stringify, TomlError } from "smol-toml";
import { firstLineOf } from "../base/error-text.ts";
import { MOST_NESTED } from "./limits.ts";
import { checkLength, ReadError, type TextSource } from "./read-error.ts";
import { TOO_DEEP } from "./yaml-events.ts";

/** Values are strings, numbers, booleans, dates, lists and tables. Integers that no number holds are bigints. */
export type TomlTable = Record<string, unknown>;

/** The root table. The message never shows the text itself: there may be secrets in it. Throws ReadError. */
export function readToml(text: string, from: TextSource): TomlTable {
  return rootOf(text, from, "asNeeded");
}

/** Like {@link readToml}, for tables that are written again: all integers are bigints, and all numbers floats. */
export function readTypedToml(text: string, from: TextSource): TomlTable {
  return rootOf(text, from, true);
}

function rootOf(text: string, from: TextSource, integersAsBigInt: true | "asNeeded"): TomlTable {
  checkLength(text, from);
  let root: TomlTable;
  try {
    root = parse(text, { maxDepth: MOST_NESTED, integersAsBigInt });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const problem = `line ${error.line}, column ${error.column}: ${firstLineOf(error)}`;
    throw new ReadError(from.source, problem);
  }
  const problem = problemIn(root);
  if (problem !== undefined) throw new ReadError(from.source, problem);
  return root;
}

/** The text of a table. Bigints are written as integers and numbers as floats: `1` and `1.0` are of different types. */
export function writeToml(table: TomlTable): string {
  return stringify(table, { numbersAsFloat: true });
}

/** TOML asks for integers of 64 bits, and the parser takes any. */
const INTEGER_BITS = 64;

/** Level by level, because a stack of calls could end. */
function problemIn(root: TomlTable): string | undefined {
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MOST_NESTED) return TOO_DEEP;
    const values = level.flatMap((one): unknown[] => Object.values(one));
    const large = values.find((one) => typeof one === "bigint" && !isOfIntegerBits(one));
    if (large !== undefined) return `an integer needs more than ${INTEGER_BITS} bits`;
    level = values.filter((value) => typeof value === "object" && value !== null) as object[];
  }
  return undefined;
}

function isOfIntegerBits(value: bigint): boolean {
  return BigInt.asIntN(INTEGER_BITS, value) === value;
}
