/**
 * Unpacks the tarball of `npm pack` without a tar program. It is gzip around blocks of 512 bytes; each file is a
 * header and its bytes. The format is POSIX' ustar. npm writes plain files, and for names over 100 bytes a prefix
 * or a pax header (https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html).
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

const BLOCK = 512;

/** Writes the tarball's files below `folder` with their modes, without npm's outer folder. */
export function unpack(tarball: string, folder: string): void {
  const bytes = gunzipSync(readFileSync(tarball));
  let longName: string | undefined;
  for (let at = 0; at < bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header[0] === 0) break;
    const size = Number.parseInt(textOf(header, 124, 12), 8);
    const content = bytes.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = textOf(header, 156, 1);
    if (type === "x") {
      longName = /\d+ path=(.*)\n/.exec(content.toString("utf8"))?.[1];
      continue;
    }
    if (type !== "0" && type !== "") continue;
    const prefix = textOf(header, 345, 155);
    const name = longName ?? join(prefix, textOf(header, 0, 100));
    longName = undefined;
    const file = join(folder, ...name.split("/").slice(1));
    mkdirSync(dirname(file), { recursive: true });
    const mode = Number.parseInt(textOf(header, 100, 8), 8);
    writeFileSync(file, content, { mode });
  }
}

/** A field of the header: text up to its end or to a NUL. */
function textOf(header: Buffer, from: number, length: number): string {
  const field = header.toString("utf8", from, from + length);
  return (field.split("\0")[0] as string).trim();
}
