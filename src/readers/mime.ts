/** MIME multipart as cloud-init reads it. The content of a part is unchanged, except for its line ends. */
import { checkLength, type TextSource } from "./read-error.ts";

/** One part of a MIME document. Its content is unchanged, byte for byte, except for line ends. */
export interface MimePart {
  /** Header lines, `Name: value`; folded lines are joined. */
  readonly headers: readonly string[];
  readonly content: string;
}

/** A whole message: its headers, and its parts if it has a boundary. */
export interface MimeMessage extends MimePart {
  /** The boundary between parts. Undefined when the headers name none. */
  readonly boundary?: string;
  /** The parts of the message. Empty if the headers name no boundary, or no line begins with the boundary. */
  readonly parts: readonly MimePart[];
}

/** Parses a MIME message. Throws ReadError if the text is too long. */
export function readMime(text: string, from: TextSource): MimeMessage {
  checkLength(text, from);
  const source = text.trimStart().replaceAll("\r\n", "\n");
  const whole = partOf(source);
  const boundary = /boundary="?([^";\n]+)"?/i.exec(whole.headers.join("\n"))?.[1];
  if (boundary === undefined) return { ...whole, parts: [] };
  const parts: MimePart[] = [];
  for (const section of `\n${source}`.split(`\n--${boundary}`).slice(1)) {
    // `--boundary--` ends the document. Text after it is ignored.
    if (section.startsWith("--")) break;
    parts.push(partOf(section.slice(section.indexOf("\n") + 1)));
  }
  return { ...whole, boundary, parts };
}

/** The value of a header, by its name in small letters. */
export function headerOf({ headers }: MimePart, name: string): string | undefined {
  const line = headers.find((one) => one.slice(0, one.indexOf(":")).trim().toLowerCase() === name);
  return line?.slice(line.indexOf(":") + 1).trim();
}

/** Splits a part into its header lines, which end at the empty line, and its content. */
function partOf(text: string): MimePart {
  const end = text.startsWith("\n") ? 0 : text.indexOf("\n\n");
  const head = end < 0 ? text : text.slice(0, end);
  const content = end < 0 ? "" : text.slice(end === 0 ? 1 : end + 2);
  const headers: string[] = [];
  for (const line of head.split("\n")) {
    if (/^[ \t]/.test(line) && headers.length > 0) headers[headers.length - 1] += ` ${line.trim()}`;
    else if (line !== "") headers.push(line);
  }
  return { headers, content };
}
