/** Writes the files of a bundle into a new folder that only its owner can read. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CliError } from "../program/cli-error.ts";
import { fileProblem } from "../program/file-problem.ts";
import type { BundleFile } from "./collect.ts";

/** Writes the files. Throws CliError if the folder cannot be created or written. */
export function writeBundle(out: string, files: readonly BundleFile[]): void {
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(join(out, path)), { recursive: true, mode: 0o700 });
      writeFileSync(join(out, path), text, { mode: 0o600 });
    }
  } catch (error) {
    throw new CliError(`--out: cannot write ${out}: ${fileProblem(error)}; name another folder`);
  }
}
