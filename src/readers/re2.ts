/**
 * Regular expressions of Go (RE2), compiled once each. Their time is proportional to the text, whoever wrote the
 * expression.
 */
import { RE2JS } from "re2js";
import { Memo } from "../base/memo.ts";

const compiled = new Memo(compile);

/** A compiled expression. A text is its error. */
export function compileRe2(expression: string): RE2JS | string {
  return compiled.get(expression);
}

/** Whether the expression matches somewhere in a text. */
export interface TextMatch {
  readonly source: string;
  matches(text: string): boolean;
}

/** Throws if the expression cannot be read. It is not anchored. */
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
