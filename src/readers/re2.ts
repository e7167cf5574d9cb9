/**
 * Regular expressions of Go (RE2), each compiled once. Matching takes time in proportion to the text, whatever the
 * expression is.
 */
import { RE2JS } from "re2js";
import { Memo } from "../base/memo.ts";

const compiled = new Memo(compile);

/** The compiled expression. If the result is a text, the text is the error. */
export function compileRe2(expression: string): RE2JS | string {
  return compiled.get(expression);
}

/** A compiled expression that can be searched for in texts. */
export interface TextMatch {
  readonly source: string;
  matches(text: string): boolean;
}

/** Compiles an expression, which is not anchored. Throws if it is invalid. */
export function textMatch(expression: string): TextMatch {
  const found = compileRe2(expression);
  if (typeof found === "string")
    throw new Error(
      `regular expression ${JSON.stringify(expression)}: ${found}; write it in the syntax of Go (RE2)`,
    );
  return { source: expression, matches: (text) => found.matcher(text).find() };
}

function compile(expression: string): RE2JS | string {
  try {
    return RE2JS.compile(expression);
  } catch (error) {
    return error instanceof Error ? error.message : `${error}`;
  }
}
