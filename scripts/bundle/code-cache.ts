/**
 * Writes V8's compiled code of a bundle beside it, so that a later process need not compile
 * (`src/cli/program/load-program.ts`). V8 accepts such a cache only from the same version with the same flags. So
 * the Node that will run the bundle writes the cache, while it runs the bundle.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import type { Programs } from "./programs.ts";
import type { Task } from "./warm-up.ts";

/** The commands to run, and the Node that runs them. Its working directory is the folder of the bundle. */
export interface WarmUp {
  /** The program's path, then its flags. */
  readonly node: readonly string[];
  /** For each run: the name of a program of the bundle, then its arguments. */
  readonly commandLines: readonly (readonly string[])[];
}

/** Writes the cache into the bundle's `folder`; resolves to its size in bytes. Throws when a command fails. */
export async function makeCodeCache(
  { file, lazy }: Programs,
  folder: string,
  { node: [program, ...flags], commandLines }: WarmUp,
): Promise<number> {
  // The warm-up would load an older cache, and the new cache would contain its functions too.
  const cache = join(folder, `${file}.cache`);
  rmSync(cache, { force: true });
  const work = mkdtempSync(join(tmpdir(), "karpenter-warm-up-"));
  try {
    const script = join(work, "warm-up.mjs");
    const entry = fileURLToPath(new URL("warm-up.ts", import.meta.url));
    await build({
      entryPoints: [entry],
      outfile: script,
      bundle: true,
      platform: "node",
      format: "esm",
    });
    const task: Task = { url: pathToFileURL(join(folder, "/")).href, file, lazy, commandLines };
    const args = [...flags, script, JSON.stringify(task)];
    const { status, stderr, error } = spawnSync(program as string, args, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "ignore", "pipe"],
    });
    if (status !== 0)
      throw new Error(`warming up with ${program} failed: ${error?.message ?? stderr.trim()}`);
    return statSync(cache).size;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
