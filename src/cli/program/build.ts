/** Which build this is: the package's version, and its commit where that can be known. */
import { readFileSync } from "node:fs";

/** What a build outside of a checkout says. */
const UNKNOWN_COMMIT = "0000000";

function read(path: string): string | undefined {
  try {
    return readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8").trim();
  } catch {
    return undefined;
  }
}

interface Manifest {
  readonly version?: string;
  /** Written by `npm run bundle`, which has no checkout beside it later. */
  readonly commit?: string;
}

const manifest = JSON.parse(read("package.json") ?? "{}") as Manifest;

/** Seven digits, as upstream's log lines have them. */
function commit(): string {
  if (manifest.commit !== undefined) return manifest.commit;
  const head = read(".git/HEAD") ?? "";
  const full = head.startsWith("ref: ") ? read(`.git/${head.slice(5)}`) : head;
  return /^[0-9a-f]{7}/.exec(full ?? "")?.[0] ?? UNKNOWN_COMMIT;
}

/** Version and commit of this program. */
export const BUILD = {
  version: manifest.version ?? "0.0.0",
  commit: commit(),
} as const;
