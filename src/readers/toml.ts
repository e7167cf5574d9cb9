/** Reads and writes TOML. Nesting is limited. The parser limits only nested values, so dotted keys are counted here. */
import { parse, stringify, TomlError } from "smol-toml";
import { firstLineOf } from "../base/error-text.ts";
import { MOST_NESTED } from "./limits.ts";
import { checkLength, ReadError, type TextSource } from "./read-error.ts";
import { TOO_DEEP } from "./yaml-events.ts";

/**
 * A TOML table. Values are strings, numbers, booleans, dates, lists and tables. An integer that a JavaScript number
 * cannot hold is a bigint.
 */
export type TomlTable = Record<string, unknown>;

/**
 * Parses a TOML text to its root table. Throws ReadError. The message never contains the text, which may have secrets.
 */
export function readToml(text: string, from: TextSource): TomlTable {
  return rootOf(text, from, "asNeeded");
}

/**
 * Like {@link readToml}, for a table that will be written again. All integers are bigints and all other numbers are
 * floats, so that types are kept.
 */
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

/**
 * Writes a table as TOML. Bigints become integers and numbers become floats, because `1` and `1.0` have different types
 * in TOML.
 */
export function writeToml(table: TomlTable): string {
  return stringify(table, { numbersAsFloat: true });
}

/** TOML limits integers to 64 bits, but the parser accepts longer ones. */
const INTEGER_BITS = 64;

/**
 * The problem of a parsed table. Undefined: there is none. The search is not recursive, because deep tables would
 * overflow the stack.
 */
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
