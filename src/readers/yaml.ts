/**
 * Reads YAML as kubectl does, in time and memory that grow with the length of the text and no faster. The parser
 * makes a flat list of events; what these stand for is bounded (yaml-events.ts) before values are made of them.
 */
import { constructFromEvents, parseEvents, YAMLException } from "js-yaml";
import { MOST_NESTED } from "./limits.ts";
import { checkLength, placeAt, ReadError, type TextSource } from "./read-error.ts";
import { eventProblem, TOO_DEEP } from "./yaml-events.ts";
import { KUBE_SCHEMA } from "./yaml-schema.ts";

/** Where the text comes from, for error messages, and how strict to be. */
export interface YamlSource extends TextSource {
  /** Whether a map may name a key twice. As to kubectl the last counts, which is the default. */
  readonly repeatedKeys?: "refused";
}

/** Keys that `<<` may copy. */
const MOST_MERGED = 100_000;
/** The parser counts the keys and values in the innermost list or map as one level more. */
const PARSER_LEVELS = MOST_NESTED + 2;
/** Small documents are parsed together, up to this length: to begin costs the parser as much as 1,000 characters. */
const PIECE_CHARACTERS = 16_384;

/** The line that separates documents. Only the parser knows other ends of documents, and directives. */
const MARKER = /(?<![^\n])(?=---(?:[ \t\r\n]|$))/;
const OTHER_MARKER = /(?<![^\n])(?:%|\.\.\.(?:[ \t\r\n]|$))/;

/** The documents of a text, in their order, without those that are empty. Throws ReadError. */
export function readYaml(text: string, from: YamlSource): unknown[] {
  checkLength(text, from);
  // Of many documents none may be too large; the parts of one document stand in the whole text.
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

/** Whole documents, a few at a time where that is possible: events need more memory than values. */
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

/** The parser quotes names from the text, which may have any length. */
function shortened(reason: string): string {
  const line = reason.split("\n")[0] as string;
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** Throws ReadError when the parser could make too many events of the text. */
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

/** Which document an offset is in, from 1. Only for errors. */
function documentAt(text: string, offset: number): number {
  const [first = "", ...others] = text.slice(0, offset + 1).split(MARKER);
  const isEmpty = first.split("\n").every((line) => /^\s*(?:[#%]|$)/.test(line));
  return Math.max(1, others.length + (isEmpty ? 0 : 1));
}
