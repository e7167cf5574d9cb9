/**
 * The only parser for JSON text from untrusted sources: a request body, an annotation, a message of a queue. Size and
 * nesting depth are checked by a linear scan before the text is parsed. Without a depth limit, recursive code that
 * later copies, compares or prints the value could overflow the stack. Text of 10 kB is enough for that.
 */

import { parseJsonInt64 } from "./int64.ts";

/** Limits on JSON text from untrusted sources. */
export interface JsonLimits {
  /** The most bytes of the text in UTF-8. Absent: the caller has already checked the size. */
  readonly maxBytes?: number;
  /** How deep arrays and objects may be nested. Absent: 100. */
  readonly maxDepth?: number;
}

/** Objects of Kubernetes, even the deepest CRD schemas, are nested less than 60 deep. */
const DEFAULT_MAX_DEPTH = 100;

/** The error that the text exceeds a limit. It was not parsed. */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
  readonly limit: keyof JsonLimits;
  readonly allowed: number;

  constructor(limit: keyof JsonLimits, allowed: number) {
    super(
      limit === "maxBytes"
        ? `JSON text is larger than the limit of ${allowed} bytes`
        : `JSON text is nested deeper than the limit of ${allowed} levels`,
    );
    this.limit = limit;
    this.allowed = allowed;
  }
}

/**
 * Parses JSON within limits. Throws JsonLimitError, which names the limit, before anything is parsed. Throws
 * SyntaxError for text that is not JSON.
 */
export function parseBoundedJson(text: string, limits: JsonLimits = {}): unknown {
  const { maxBytes, maxDepth = DEFAULT_MAX_DEPTH } = limits;
  if (maxBytes !== undefined && isLarger(text, maxBytes))
    throw new JsonLimitError("maxBytes", maxBytes);
  if (isDeeper(text, maxDepth)) throw new JsonLimitError("maxDepth", maxDepth);
  return parseJsonInt64(text);
}

/**
 * Whether the text has more bytes in UTF-8. The bytes are counted only if the length does not decide: a UTF-16 unit has
 * one to three bytes.
 */
function isLarger(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  if (text.length * 3 <= maxBytes) return false;
  let bytes = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // Each half of a surrogate pair counts as two of the four bytes.
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    bytes += unit < 0x80 ? 1 : unit < 0x800 || isSurrogate ? 2 : 3;
  }
  return bytes > maxBytes;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Square and curly brackets differ only in this bit, so one comparison finds both. */
const CURLY_BIT = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

/**
 * Whether brackets are nested too deep; brackets inside strings do not count. The result for text that is not JSON does
 * not matter, because the parser refuses it later.
 */
function isDeeper(text: string, maxDepth: number): boolean {
  // Each level has an opening bracket. Most texts have too few of them to exceed the limit, and need no scan.
  if (count(text, "{", maxDepth) + count(text, "[", maxDepth) <= maxDepth) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at + 1);
    else if ((unit | CURLY_BIT) === OPENING) {
      if (++depth > maxDepth) return true;
    } else if ((unit | CURLY_BIT) === CLOSING) depth--;
  }
  return false;
}

/** How often a character occurs. Counting stops once there are more than `enough`. */
function count(text: string, char: string, enough: number): number {
  let found = 0;
  for (let at = text.indexOf(char); at !== -1; at = text.indexOf(char, at + 1))
    if (++found > enough) return found;
  return found;
}

/** Index of the closing quote, or the text's length. `indexOf` is fast for long strings without escapes. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end !== -1) {
    let first = end;
    while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first--;
    // An odd number of backslashes escapes the quote.
    if ((end - first) % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}
