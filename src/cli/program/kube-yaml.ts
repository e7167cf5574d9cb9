/**
 * YAML as kubectl reads and writes it: version 1.1, where a bare `yes` is a boolean and so a text `yes` stands in
 * quotes. Of keys given twice the last counts, empty documents are nothing, and a time is text, `22:22` too.
 */
import {
  type Document,
  Lexer,
  parseAllDocuments,
  stringify,
  type Tags,
  type ToStringOptions,
} from "yaml";
import { firstLineOf } from "../../base/error-text.ts";
import { type Printed, printedDocument, printedJson } from "../../base/printable.ts";

const VERSION = { version: "1.1" } as const;
/** Nodes that aliases stand for; beyond that a document is a bomb. */
const MOST_ALIASED = 10_000;

/** Lists and maps in one another; no manifest comes near it, and far beyond it the parser's stack, or the process, ends. */
const MOST_NESTED = 500;
export const TOO_DEEP = `lists or maps in one another, more than ${MOST_NESTED} deep`;
/** `- - - x` is a list in a list in a list. */
const DASHES = new RegExp(`(?:[-?:][ \\t]+){${MOST_NESTED}}`);
/** By indentation: each column has a map and a list in it at most. */
const FAR_RIGHT = new RegExp(`^[ \\t?:-]{${MOST_NESTED / 2}}`, "m");

/** YAML knows of these only tab and line ends; a parser would make one long word of a binary file. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const NO_TEXT = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

/** What cannot be read; `message` is one line, `document` counts from 1. */
export class YamlError extends Error {
  override readonly name = "YamlError";
  readonly document: number;

  constructor(document: number, message: string) {
    super(message);
    this.document = document;
  }
}

/** Where a document begins. Of the ends of documents and of directives only the parser knows. */
const MARKER = /(?<![^\n])(?=---(?:[ \t\r\n]|$))/;
const OTHER_MARKER = /(?<![^\n])(?:%|\.\.\.(?:[ \t\r\n]|$))/;

/** The documents of a text. Throws YamlError. */
export function readYaml(text: string): unknown[] {
  if (NO_TEXT.test(text)) throw new YamlError(1, "no text: there are control characters in it");
  if (isTooDeep(text)) throw new YamlError(1, TOO_DEEP);
  if (OTHER_MARKER.test(text)) return readAtOnce(text);
  try {
    // One after the other: the trees of a hundred thousand documents would take more than a gigabyte.
    return text.split(MARKER).flatMap(readAtOnce);
  } catch {
    // The complaint is to count documents and lines from the beginning.
    return readAtOnce(text);
  }
}

/** Whether lists and maps are nested deeper, by indentation, on one line or in brackets, than can be read: of YAML or JSON. */
export function isTooDeep(text: string): boolean {
  // Brackets in texts count here too, so this may cry wolf; only then the text is taken apart.
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (sign === OPEN_LIST || sign === OPEN_MAP) depth += 1;
    else if ((sign === CLOSE_LIST || sign === CLOSE_MAP) && depth > 0) depth -= 1;
    if (depth > MOST_NESTED) return isNestedDeeply(text);
  }
  return (DASHES.test(text) || FAR_RIGHT.test(text)) && isNestedDeeply(text);
}

const [OPEN_LIST, CLOSE_LIST, OPEN_MAP, CLOSE_MAP] = [0x5b, 0x5d, 0x7b, 0x7d];
/** What the lexer says before a plain text or a block of text. */
const TEXT_FOLLOWS = "\u001f";

function isNestedDeeply(text: string): boolean {
  let [inBrackets, onLine] = [0, 0];
  let before = "";
  const blocks = new Blocks();
  for (const token of new Lexer().lex(text)) {
    const isSign = before !== TEXT_FOLLOWS;
    if (isSign && (token === "[" || token === "{")) inBrackets += 1;
    else if (isSign && (token === "]" || token === "}")) inBrackets -= 1;
    else if (isSign && (token === "-" || token === "?" || token === ":")) onLine += 1;
    else if (token.trim() !== "" || token.includes("\n")) onLine = 0;
    blocks.read(token, isSign, inBrackets > 0);
    if (Math.max(inBrackets, onLine, blocks.depth) > MOST_NESTED) return true;
    before = token;
  }
  return false;
}

/** Lists and maps that are open by indentation where a text has been read to. */
class Blocks {
  /** Twice the column, and one more for a list: it may stand in the map's own column. */
  readonly #open: number[] = [];
  #column = 0;
  /** Only signs and blanks so far on this line. */
  #isBegin = true;

  get depth(): number {
    return this.#open.length;
  }

  read(token: string, isSign: boolean, isInBrackets: boolean): void {
    const isMark = isSign && (token === "-" || token === "?" || token === ":");
    const isBlank = isSign && !isMark && token.trim() === "";
    if (this.#isBegin && !isBlank && !isInBrackets && token !== TEXT_FOLLOWS)
      this.#enter(2 * this.#column + (isMark && token === "-" ? 1 : 0));
    const end = token.lastIndexOf("\n");
    if (end >= 0) [this.#column, this.#isBegin] = [token.length - end - 1, true];
    else if (token !== TEXT_FOLLOWS) {
      this.#column += token.length;
      this.#isBegin &&= isMark || isBlank;
    }
  }

  #enter(place: number): void {
    const open = this.#open;
    while ((open.at(-1) ?? -1) > place) open.pop();
    if (open.at(-1) !== place) open.push(place);
  }
}

function readAtOnce(text: string): unknown[] {
  const documents: readonly Document.Parsed[] = parseAllDocuments(text, {
    ...VERSION,
    uniqueKeys: false,
    schema: "yaml-1.1",
    customTags: (tags) => tags.filter((tag) => !isTime(tag)),
  }) as Document.Parsed[];
  return documents.flatMap((document, index) => {
    try {
      const [error] = document.errors;
      if (error !== undefined) throw error;
      const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASED });
      if (text.includes("&") && containsItself(value))
        throw new Error("what an anchor stands for contains itself; write it out instead");
      return value === null || value === undefined ? [] : [value];
    } catch (error) {
      throw new YamlError(index + 1, firstLineOf(error));
    }
  });
}

/** JSON has no such values, and who walks through one comes to no end. */
function containsItself(value: unknown, above: Set<unknown> = new Set()): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (above.has(value)) return true;
  above.add(value);
  const found = Object.values(value).some((one) => containsItself(one, above));
  above.delete(value);
  return found;
}

export function writeYaml(value: unknown, style: YamlStyle = {}): string {
  return stringify(value, { ...VERSION, ...style });
}

type YamlStyle = Pick<ToStringOptions, "indentSeq" | "lineWidth"> & {
  readonly sortMapEntries?: boolean;
  readonly aliasDuplicateObjects?: boolean;
};

/** An answer for programs. */
export function printed(answer: unknown, format: "json" | "yaml"): Printed {
  return format === "json"
    ? printedJson(JSON.stringify(answer, null, 2))
    : printedDocument(writeYaml(answer));
}

/** Of timestamps, and of numbers to the base of sixty. */
function isTime(tag: Tags[number]): boolean {
  if (typeof tag !== "object") return false;
  return tag.tag === "tag:yaml.org,2002:timestamp" || ("format" in tag && tag.format === "TIME");
}
