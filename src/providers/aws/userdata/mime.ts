/**
 * MIME multipart as cloud-init reads it: parses the user's document and joins it with Karpenter's parts. The content of
 * a part is kept byte for byte.
 */
import { headerOf, type MimeMessage, type MimePart, readMime } from "../../../readers/mime.ts";
import { ReadError } from "../../../readers/read-error.ts";
import { UserDataError } from "../errors.ts";
import { USER_DATA } from "./bootstrap.ts";

const BOUNDARY = "//";

/** A plain script as a MIME part. */
export function shellPart(content: string): MimePart {
  return { headers: ['Content-Type: text/x-shellscript; charset="us-ascii"'], content };
}

/** Whether the text has the headers of a MIME document. */
export function isMime(text: string): boolean {
  const start = text.trimStart();
  return start.startsWith("MIME-Version:") || start.startsWith("Content-Type:");
}

/** The parts of a multipart document, at least one. Throws with the problem if there is none. */
export function parseMime(text: string): readonly MimePart[] {
  const message = readUserData(text);
  const { boundary, parts } = message;
  if (boundary === undefined || !/multipart\//i.test(headerOf(message, "content-type") ?? "")) {
    throw new UserDataError(
      "parsing custom user data: spec.userData starts like MIME but has no multipart boundary; " +
        'add `Content-Type: multipart/mixed; boundary="..."` or give a plain script',
    );
  }
  if (parts.length === 0) {
    throw new UserDataError(
      `parsing custom user data: spec.userData names the boundary ${JSON.stringify(boundary)} and has no part that begins with a line --${boundary}; ` +
        "begin each part with that line, or mend the name",
    );
  }
  return parts;
}

function readUserData(text: string): MimeMessage {
  try {
    return readMime(text, USER_DATA);
  } catch (error) {
    if (error instanceof ReadError)
      throw new UserDataError(`parsing custom user data: ${error.message}`);
    throw error;
  }
}

/** A MIME multipart text with a fixed boundary, so that equal parts give equal text. */
export function formatMime(parts: readonly MimePart[]): string {
  const sections = parts.map(
    ({ headers, content }) => `--${BOUNDARY}\n${headers.join("\n")}\n\n${content}\n`,
  );
  const head = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${BOUNDARY}"\n\n`;
  return `${head}${sections.join("")}--${BOUNDARY}--\n`;
}
