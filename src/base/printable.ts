/**
 * Makes text for people safe for a terminal. Names, messages and files come from others: a control character in them
 * could move the cursor, forge a line, set the window's title or reverse text. Each such character is shown as an
 * escape, `\n` or `\u001b`, as in JSON. Everything that is printed has the type `Printed`, so that the compiler finds
 * text that was not made safe.
 */

declare const safe: unique symbol;

/** Text that may be printed on a terminal. */
export type Printed = string & { readonly [safe]: true };

/**
 * Control characters (C0, DEL, C1), line and paragraph separators, single surrogates, and characters that reverse text
 * or are invisible. The latter are U+061C, U+200E, U+200F, U+202A to U+202E, U+2060 to U+206F, U+FEFF and tags.
 */
const UNSAFE =
  /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** The text as one line, with each unsafe character as an escape. A second call changes nothing more. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (char) => SHORT[char] ?? escaped(char));
}

/** One line for each text. A line break inside a text is shown as an escape. */
export function printedLines(lines: readonly string[]): Printed {
  return lines.map((line) => `${printable(line)}\n`).join("") as Printed;
}

/** A coloured line. `paint`: adds colour codes to text that is already safe. */
export function paintedLine(line: string, paint: (text: string) => string): Printed {
  return `${paint(printable(line))}\n` as Printed;
}

/** Joins texts that are already safe. */
export function joined(parts: readonly Printed[]): Printed {
  return parts.join("") as Printed;
}

/**
 * A JSON document on one or more lines. In JSON an escape means the same as its character, so the document keeps its
 * meaning.
 */
export function printedJson(json: string): Printed {
  return printedLines(json.replace(/\n$/, "").split("\n"));
}

/** A document in a format that escapes control characters itself, such as YAML. It is not changed. */
export function printedDocument(text: string): Printed {
  return text as Printed;
}

/** The character as one escape for each UTF-16 unit, as in JSON. */
function escaped(char: string): string {
  const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
