/**
 * Finds where a text stops being JSON. `JSON.parse` names the place only on some versions of Node, and without a line.
 * This scanner keeps a list of open brackets and does not recurse, so deep texts cannot overflow the stack.
 */

/** The first fault of a JSON text. */
export interface JsonProblem {
  readonly offset: number;
  /** The fault in words: what was expected, and what was found. */
  readonly problem: string;
}

type Wanted = "value" | "item" | "first key" | "key" | "colon" | "end of item" | "nothing";

interface Open {
  readonly bracket: "{" | "[";
  readonly offset: number;
}

const SPACE = /[ \t\n\r]*/y;
const PLAIN = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const WORD = /[\w.+-]{1,20}/y;
const BAD_ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|\\/g;

/** The first fault of a text that should be one or several JSON values. Undefined: there is no fault. */
export function jsonProblem(text: string): JsonProblem | undefined {
  const open: Open[] = [];
  let wanted: Wanted = "value";
  let at = spaceEnd(text, 0);
  while (at < text.length) {
    const step = read(text, at, { wanted, open });
    if (step.problem !== undefined) return step.problem;
    wanted = step.next;
    at = spaceEnd(text, step.end);
  }
  const last = open.at(-1);
  if (last !== undefined) return { offset: text.length, problem: unclosed(text, last) };
  return wanted === "value" ? { offset: at, problem: "there is no value" } : undefined;
}

interface Step {
  readonly next: Wanted;
  readonly end: number;
  readonly problem?: JsonProblem;
}

/** The state of the scan: what may come next, and which brackets are open. */
interface Inside {
  readonly wanted: Wanted;
  readonly open: Open[];
}

function read(text: string, at: number, { wanted, open }: Inside): Step {
  const sign = text[at] as string;
  const afterValue = (): Wanted => (open.length === 0 ? "nothing" : "end of item");
  const isValue = wanted === "value" || wanted === "item" || wanted === "nothing";
  const isKey = wanted === "first key" || wanted === "key";
  if (sign === '"' && (isValue || isKey)) {
    const { end, problem } = readString(text, at);
    return { next: isKey ? "colon" : afterValue(), end, ...(problem && { problem }) };
  }
  if (isValue && (sign === "{" || sign === "[")) {
    open.push({ bracket: sign, offset: at });
    return { next: sign === "{" ? "first key" : "item", end: at + 1 };
  }
  if (wanted === "colon" && sign === ":") return { next: "value", end: at + 1 };
  if (wanted === "end of item" && sign === ",")
    return { next: open.at(-1)?.bracket === "{" ? "key" : "value", end: at + 1 };
  const mayClose = wanted === "end of item" || wanted === "first key" || wanted === "item";
  if (mayClose && sign === closing(open)) {
    open.pop();
    return { next: afterValue(), end: at + 1 };
  }
  const end = isValue ? matchEnd(PLAIN, text, at) : undefined;
  if (end !== undefined) return { next: afterValue(), end };
  const problem = `wanted ${words(wanted, open)}, found ${found(text, at)}`;
  return { next: wanted, end: at, problem: { offset: at, problem } };
}

function readString(text: string, start: number): { end: number; problem?: JsonProblem } {
  const end = stringEnd(text, start);
  const inside = text.slice(start + 1, end ?? text.length);
  const control = inside.search(/[^\P{Cc}\x7f-\x9f]/u);
  if (control >= 0)
    return {
      end: start,
      problem: {
        offset: start + 1 + control,
        problem: `the text in double quotes has ${inside[control] === "\n" ? "a line break" : "a control character"}`,
      },
    };
  if (end === undefined)
    return {
      end: start,
      problem: { offset: start, problem: "the closing double quote is missing" },
    };
  for (const { 0: sign, index } of inside.matchAll(BAD_ESCAPE))
    if (sign === "\\")
      return {
        end: start,
        problem: {
          offset: start + 1 + index,
          problem: `"${inside.slice(index, index + 2)}" is no escape`,
        },
      };
  return { end: end + 1 };
}

/** Offset of the quote that closes the string which opens at `start`. */
export function stringEnd(text: string, start: number): number | undefined {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (first > start + 1 && text[first - 1] === "\\") first--;
    if ((end - first) % 2 === 0) return end;
  }
  return undefined;
}

function words(wanted: Wanted, open: readonly Open[]): string {
  const close = closing(open) ?? "";
  switch (wanted) {
    case "colon":
      return 'a ":" after the key';
    case "end of item":
      return `a "," or "${close}"`;
    case "key":
      return "a key in double quotes";
    case "first key":
      return 'a key in double quotes or "}"';
    case "item":
      return 'a value or "]"';
    case "value":
      return "a value";
    case "nothing":
      return "the end, or another value";
  }
}

function closing(open: readonly Open[]): "}" | "]" | undefined {
  const last = open.at(-1);
  return last === undefined ? undefined : last.bracket === "{" ? "}" : "]";
}

function unclosed(text: string, { bracket, offset }: Open): string {
  const line = text.slice(0, offset).split("\n").length;
  return `the text ends before the "${bracket === "{" ? "}" : "]"}" of the "${bracket}" in line ${line}`;
}

function found(text: string, at: number): string {
  const end = matchEnd(WORD, text, at) ?? at + 1;
  return JSON.stringify(text.slice(at, end));
}

function spaceEnd(text: string, at: number): number {
  return matchEnd(SPACE, text, at) ?? at;
}

function matchEnd(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
