/** TOML, read and written. Nesting is bounded in values, by the parser, and in dotted keys, which it does not count. */
import { parse, stringify, TomlError } from "smol-toml";
import { firstLineOf } from "../base/error-text.ts";
import { MOST_NESTED } from "./limits.ts";
import { checkLength, ReadError, type TextSource } from "./read-error.ts";
import { TOO_DEEP } from "./yaml-events.ts";

/** Values are strings, numbers, booleans, dates, lists and tables. */
export type TomlTable = Record<string, unknown>;

/** The root table. The message never shows the text itself: there may be secrets in it. Throws ReadError. */
export function readToml(text: string, from: TextSource): TomlTable {
  checkLength(text, from);
  let root: TomlTable;
  try {
    root = parse(text, { maxDepth: MOST_NESTED });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const problem = `line ${error.line}, column ${error.column}: ${firstLineOf(error)}`;
    throw new ReadError(from.source, problem);
  }
  if (isNestedTooDeep(root)) throw new ReadError(from.source, TOO_DEEP);
  return root;
}

/** The text of a table. */
export function writeToml(table: TomlTable): string {
  return stringify(table);
}

/** Level by level, because a stack of calls could end. */
function isNestedTooDeep(root: TomlTable): boolean {
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MOST_NESTED) return true;
    level = level.flatMap((one) =>
      Object.values(one).filter((value) => typeof value === "object" && value !== null),
    );
  }
  return false;
}
