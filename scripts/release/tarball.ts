/** Archives with the same bytes each time: entries sorted by name, one time for all, a fixed owner. */
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";

export interface ArchiveEntry {
  /** The path inside the archive, with `/`. */
  readonly path: string;
  readonly content: Buffer;
  readonly isExecutable: boolean;
  /** The target of a symbolic link, which has no content. */
  readonly link?: string;
  /** The mode of a folder. Set if the entry is a folder, so that empty ones such as /tmp exist. */
  readonly folderMode?: number;
}

/** All files of a folder, by their path below `under`; links are followed. */
export function entriesOf(folder: string, under = ""): readonly ArchiveEntry[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => ({ name, file: join(folder, name) }))
    .filter(({ file }) => statSync(file).isFile())
    .map(({ name, file }) => ({
      path: under === "" ? slashed(name) : `${under}/${slashed(name)}`,
      content: readFileSync(file),
      isExecutable: (statSync(file).mode & 0o111) !== 0,
    }));
}

/** The entries of a root file system: links stay links, and empty folders are kept. */
export function rootEntriesOf(folder: string, under = ""): readonly ArchiveEntry[] {
  return readdirSync(join(folder, under))
    .sort()
    .flatMap((name): readonly ArchiveEntry[] => {
      const path = under === "" ? name : `${under}/${name}`;
      const file = join(folder, path);
      const stats = lstatSync(file);
      const nothing = { path, content: Buffer.alloc(0), isExecutable: false };
      if (stats.isSymbolicLink()) return [{ ...nothing, link: readlinkSync(file) }];
      if (stats.isDirectory())
        return [{ ...nothing, folderMode: stats.mode & 0o7777 }, ...rootEntriesOf(folder, path)];
      if (!stats.isFile())
        throw new Error(`${file} is neither a file nor a folder nor a link: take it out`);
      return [{ path, content: readFileSync(file), isExecutable: (stats.mode & 0o111) !== 0 }];
    });
}

function slashed(path: string): string {
  return path.replaceAll("\\", "/");
}

/**
 * Makes a tar archive. `atMs`: the time of every entry. Folders have entries too, because container runtimes need
 * them.
 */
export async function tarOf(entries: readonly ArchiveEntry[], atMs: number): Promise<Buffer> {
  const archive = pack();
  const mtime = new Date(atMs);
  const owner = { uid: 0, gid: 0, uname: "", gname: "", mtime };
  const all = [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));
  const folders = new Set<string>();
  for (const { path, content, isExecutable, link, folderMode } of all) {
    const parts = path.split("/").slice(0, -1);
    for (let length = 1; length <= parts.length; length++) {
      const name = `${parts.slice(0, length).join("/")}/`;
      if (folders.has(name)) continue;
      folders.add(name);
      archive.entry({ ...owner, name, mode: 0o755, type: "directory" });
    }
    if (link !== undefined) {
      archive.entry({ ...owner, name: path, mode: 0o777, type: "symlink", linkname: link });
    } else if (folderMode !== undefined) {
      folders.add(`${path}/`);
      archive.entry({ ...owner, name: `${path}/`, mode: folderMode, type: "directory" });
    } else archive.entry({ ...owner, name: path, mode: isExecutable ? 0o755 : 0o644 }, content);
  }
  archive.finalize();
  return buffer(archive);
}

/** gzip without a time or a name in it. */
export function gzipped(tar: Buffer): Buffer {
  return gzipSync(tar, { level: 9 });
}
