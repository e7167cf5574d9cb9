/** Version and commit of this program. */
import { readFileSync } from "node:fs";

/** The commit of a build outside of a git checkout. */
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
  /** The commit, written by `npm run bundle`, because the bundle runs without a checkout. */
  readonly commit?: string;
}

const manifest = JSON.parse(read("package.json") ?? "{}") as Manifest;

/** The commit's first seven digits, as in upstream's log lines. */
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
