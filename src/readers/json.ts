/**
 * Reads JSON files. Nesting is limited before the value is built, because code that walks a deep value overflows the
 * stack.
 */
import { JsonLimitError, parseBoundedJson } from "../base/bounded-json.ts";
import { errorText } from "../base/error-text.ts";
import { jsonProblem, stringEnd } from "./json-problem.ts";
import { MOST_NESTED } from "./limits.ts";
import { checkLength, placeAt, ReadError, type TextSource } from "./read-error.ts";
import { TOO_DEEP } from "./yaml-events.ts";

/** Parses a JSON text. Throws ReadError if it is not JSON, too long or nested too deeply. */
export function readJson(text: string, from: TextSource): unknown {
  checkLength(text, from);
  try {
    return parseBoundedJson(text, { maxDepth: MOST_NESTED });
  } catch (error) {
    if (error instanceof JsonLimitError) throw new ReadError(from.source, TOO_DEEP);
    throw notJson(text, from) ?? new ReadError(from.source, `not JSON: ${errorText(error)}`);
  }
}

/** Where a text stops being JSON, as an error with line and column; undefined: it is JSON. */
export function notJson(text: string, { source }: TextSource): ReadError | undefined {
  const found = jsonProblem(text);
  if (found === undefined) return undefined;
  const { line, column } = placeAt(text, found.offset);
  return new ReadError(source, `not valid JSON: line ${line}, column ${column}: ${found.problem}`);
}

/**
 * The values of a text with several JSON documents, such as two outputs of `kubectl get -o json`. Undefined: the text
 * has another form. Throws ReadError if it is too long or nested too deeply.
 */
export function readJsonTexts(text: string, from: TextSource): unknown[] | undefined {
  checkLength(text, from);
  const ends = endsOfValues(text, from);
  if (ends === undefined || text.slice(ends.at(-1) ?? 0).trim() !== "") return undefined;
  try {
    return ends.map((end, index) => JSON.parse(text.slice(ends[index - 1] ?? 0, end)) as unknown);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Offsets at which the outermost lists and maps end. Undefined: the brackets do not match. Throws ReadError if they are
 * nested too deeply.
 */
function endsOfValues(text: string, { source }: TextSource): number[] | undefined {
  const ends: number[] = [];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === QUOTE) {
      at = stringEnd(text, at) ?? text.length;
    } else if (sign === OPEN_LIST || sign === OPEN_MAP) {
      depth++;
      if (depth > MOST_NESTED) throw new ReadError(source, TOO_DEEP);
    } else if (sign === CLOSE_LIST || sign === CLOSE_MAP) {
      depth--;
      if (depth < 0) return undefined;
      if (depth === 0) ends.push(at + 1);
    }
  }
  return depth === 0 ? ends : undefined;
}
