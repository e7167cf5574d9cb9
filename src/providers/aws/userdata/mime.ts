/**
 * MIME multipart as cloud-init reads it: taking a user's document apart and putting ours together. The
 * content of a part is kept byte for byte.
 */
import { UserDataError } from "../errors.ts";

export interface MimePart {
  /** Header lines as written, `Name: value`. */
  readonly headers: readonly string[];
  readonly content: string;
}

const BOUNDARY = "//";

/** What cloud-init is told about a plain script. */
export function shellPart(content: string): MimePart {
  return { headers: ['Content-Type: text/x-shellscript; charset="us-ascii"'], content };
}

/** Whether the text says of itself that it is MIME. */
export function isMime(text: string): boolean {
  const start = text.trimStart();
  return start.startsWith("MIME-Version:") || start.startsWith("Content-Type:");
}

/** The parts of a multipart document, one at least. Throws with what is wrong when there is none. */
export function parseMime(text: string): readonly MimePart[] {
  const source = text.trimStart().replaceAll("\r\n", "\n");
  const { headers } = splitHead(source);
  const contentType = headers.find((line) => /^content-type:/i.test(line)) ?? "";
  const boundary = /boundary="?([^";\n]+)"?/i.exec(headers.join("\n"))?.[1];
  if (!/multipart\//i.test(contentType) || boundary === undefined) {
    throw new UserDataError(
      "parsing custom user data: spec.userData starts like MIME but has no multipart boundary; " +
        'add `Content-Type: multipart/mixed; boundary="..."` or give a plain script',
    );
  }
  const parts: MimePart[] = [];
  for (const section of `\n${source}`.split(`\n--${boundary}`).slice(1)) {
    // `--boundary--` ends the document; what follows is ignored.
    if (section.startsWith("--")) break;
    const { headers: own, rest } = splitHead(section.replace(/^[^\n]*\n/, ""));
    parts.push({ headers: own, content: rest });
  }
  if (parts.length === 0) {
    throw new UserDataError(
      `parsing custom user data: spec.userData names the boundary ${JSON.stringify(boundary)} and has no part that begins with a line --${boundary}; ` +
        "begin each part with that line, or mend the name",
    );
  }
  return parts;
}

export function formatMime(parts: readonly MimePart[]): string {
  const sections = parts.map(
    ({ headers, content }) => `--${BOUNDARY}\n${headers.join("\n")}\n\n${content}\n`,
  );
  const head = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${BOUNDARY}"\n\n`;
  return `${head}${sections.join("")}--${BOUNDARY}--\n`;
}

/** Header lines up to the empty line; folded lines are joined. */
function splitHead(text: string): { headers: readonly string[]; rest: string } {
  const end = text.startsWith("\n") ? 0 : text.indexOf("\n\n");
  const head = end < 0 ? text : text.slice(0, end);
  const rest = end < 0 ? "" : text.slice(end === 0 ? 1 : end + 2);
  const headers: string[] = [];
  for (const line of head.split("\n")) {
    if (/^[ \t]/.test(line) && headers.length > 0) headers[headers.length - 1] += ` ${line.trim()}`;
    else if (line !== "") headers.push(line);
  }
  return { headers, rest };
}
