/**
 * Reads YAML as kubectl does, in time and memory proportional to the length of the text. The parser makes a flat list
 * of events. yaml-events.ts checks them before values are built from them.
 */
import { constructFromEvents, parseEvents, YAMLException } from "js-yaml";
import { MOST_NESTED } from "./limits.ts";
import { checkLength, placeAt, ReadError, type TextSource } from "./read-error.ts";
import { eventProblem, TOO_DEEP } from "./yaml-events.ts";
import { KUBE_SCHEMA } from "./yaml-schema.ts";

/** Where the text comes from, for error messages, and how strict to be. */
export interface YamlSource extends TextSource {
  /** Whether a key that occurs twice in a map is an error. Default: the last value counts, as in kubectl. */
  readonly repeatedKeys?: "refused";
}

/** Maximum number of keys that `<<` may copy. */
const MOST_MERGED = 100_000;
/**
 * The parser's limit on nesting. It counts the keys and values in the innermost list or map as one more level, and the
 * document as another.
 */
const PARSER_LEVELS = MOST_NESTED + 2;
/**
 * Small documents are parsed together, up to this length. Each start of the parser costs as much as 1,000 characters.
 */
const PIECE_CHARACTERS = 16_384;

/** Matches the line that separates documents. Documents with other markers or with directives are not split here. */
const MARKER = /(?<![^\n])(?=---(?:[ \t\r\n]|$))/;
const OTHER_MARKER = /(?<![^\n])(?:%|\.\.\.(?:[ \t\r\n]|$))/;

/** The documents of a text, in order, without empty ones. Throws ReadError. */
export function readYaml(text: string, from: YamlSource): unknown[] {
  checkLength(text, from);
  // If only one document is allowed, the parts of the whole text are counted at once. Otherwise each piece is checked
  // alone.
  if (from.limits.documents === 1) checkParts(text, from);
  const values: unknown[] = [];
  let offset = 0;
  for (const piece of piecesOf(text)) {
    for (const value of readPiece(piece, offset, text, from)) {
      if (value !== null && value !== undefined) values.push(value);
      if (values.length > from.limits.documents) throw tooManyDocuments(from);
    }
    offset += piece.length;
  }
  return values;
}

/** The only document of a text; undefined if the text is empty or null. Throws ReadError. */
export function readYamlValue(text: string, from: YamlSource): unknown {
  const [value, another] = readYaml(text, from);
  if (another !== undefined)
    throw tooManyDocuments({ ...from, limits: { ...from.limits, documents: 1 } });
  return value;
}

/**
 * Splits a text into pieces of one or several whole documents. Parsing piece by piece saves memory, because events need
 * more memory than values.
 */
function piecesOf(text: string): readonly string[] {
  if (OTHER_MARKER.test(text)) return [text];
  const pieces: string[] = [];
  for (const document of text.split(MARKER)) {
    const last = pieces.at(-1);
    const isRoom = last !== undefined && last.length + document.length <= PIECE_CHARACTERS;
    if (isRoom) pieces[pieces.length - 1] = last + document;
    else pieces.push(document);
  }
  return pieces;
}

function readPiece(piece: string, start: number, text: string, from: YamlSource): unknown[] {
  checkParts(piece, from);
  const refuse = (problem: string, offset: number): ReadError => {
    const { line, column } = placeAt(text, start + offset);
    const document = documentAt(text, start + offset);
    return new ReadError(
      `${from.source}, document ${document}`,
      `not valid YAML: line ${line}, column ${column}: ${problem}`,
    );
  };
  try {
    const events = parseEvents(piece, { maxDepth: PARSER_LEVELS });
    const found = eventProblem(events, piece);
    if (found !== undefined) throw refuse(found.problem, found.offset);
    return constructFromEvents(events, {
      source: piece,
      schema: KUBE_SCHEMA,
      json: from.repeatedKeys !== "refused",
      maxTotalMergeKeys: MOST_MERGED,
    });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const isTooDeep = error.reason.startsWith("nesting exceeded");
    throw refuse(isTooDeep ? TOO_DEEP : shortened(error.reason), error.mark?.position ?? 0);
  }
}

/** Shortens the parser's message, which quotes names of any length from the text. */
function shortened(reason: string): string {
  const line = reason.split("\n")[0] as string;
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** Throws ReadError if the parser could make too many events from the text. */
function checkParts(piece: string, { source, limits }: TextSource): void {
  // Each part takes at least two characters, so short text cannot have too many parts.
  if (piece.length <= limits.parts) return;
  let parts = 0;
  for (let at = 0; at < piece.length; at++) if (IS_SIGN[piece.charCodeAt(at)] === 1) parts++;
  if (parts > limits.parts)
    throw new ReadError(
      source,
      `has over ${limits.parts.toLocaleString("en-US")} lines, keys and items in one document; ${limits.remedy}`,
    );
}

const IS_SIGN = Uint8Array.from({ length: 128 }, (_, code) =>
  "\n\r,:-?[{".includes(String.fromCharCode(code)) ? 1 : 0,
);

function tooManyDocuments({ source, limits }: TextSource): ReadError {
  const most = limits.documents === 1 ? "one" : limits.documents.toLocaleString("en-US");
  return new ReadError(
    source,
    `has more documents than ${most}, which is the most; ${limits.remedy}`,
  );
}

/** The number of the document that contains an offset, from 1. Used only for error messages. */
function documentAt(text: string, offset: number): number {
  const [first = "", ...others] = text.slice(0, offset + 1).split(MARKER);
  const isEmpty = first.split("\n").every((line) => /^\s*(?:[#%]|$)/.test(line));
  return Math.max(1, others.length + (isEmpty ? 0 : 1));
}
