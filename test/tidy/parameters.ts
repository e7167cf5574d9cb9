/** Finds functions and methods that take more than three positional parameters. */
import type { SourceFile } from "./sources.ts";

const MOST = 3;
const FUNCTIONS =
  /^(?:export )?(?:async )?function\*? (\w+)(?:<[^(]*>)?\(|^ {2}(?:(?:async|static|override|private|get|set) )*\*?(#?\w+)(?:<[^(]*>)?\((?=[^\n]*\{$|$)/gm;
const KEYWORDS = new Set(["if", "for", "while", "switch", "catch", "return", "super"]);

/** Names of functions and methods with more than three positional parameters. */
export function crowdedFunctions({ text }: Pick<SourceFile, "text">): string[] {
  return [...text.matchAll(FUNCTIONS)]
    .filter(([, , method]) => method === undefined || !KEYWORDS.has(method))
    .filter(({ 0: head, index, 2: method }) => {
      const { count, end } = parametersIn(text, index + head.length);
      // A call ends with `;`. A method continues with its result type or its body.
      return count > MOST && (method === undefined || /^\)(:| \{)/.test(text.slice(end, end + 3)));
    })
    .map(([, name, method]) => name ?? (method as string));
}

/** The number of parameters up to the closing bracket, and the index of that bracket. */
function parametersIn(text: string, from: number): { count: number; end: number } {
  let depth = 0;
  let count = 0;
  let isEmpty = true;
  let at = from;
  for (; at < text.length; at++) {
    const sign = text[at] as string;
    if (depth === 0 && sign === ")") break;
    if (depth === 0 && sign === ",") {
      count++;
      isEmpty = true;
      continue;
    }
    if ("([{<".includes(sign)) depth++;
    else if (")]}".includes(sign) || (sign === ">" && text[at - 1] !== "=")) depth--;
    if (/\S/.test(sign)) isEmpty = false;
  }
  return { count: isEmpty ? count : count + 1, end: at };
}
