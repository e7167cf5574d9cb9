/**
 * The outputs of the log: standard output, standard error and files, as a comma-separated list, as in zap. If an output
 * cannot be written, that is reported once on the output for errors.
 */

import { openSync, writeSync } from "node:fs";
import { fieldOf } from "../../base/json.ts";
import { ConfigError } from "../settings/parse-options.ts";

const STREAMS: Readonly<Record<string, number>> = { stdout: 1, stderr: 2 };

/**
 * Returns a function that writes log lines. `paths`, `errorPaths`: as in LOG_OUTPUT_PATHS. Throws ConfigError for a
 * file that cannot be opened.
 */
export function logWriter(
  paths: string,
  errorPaths: string,
  write: (file: number, line: string) => void = writeLine,
): (line: string) => void {
  const outputs = open("log-output-paths", paths);
  const errors = open("log-error-output-paths", errorPaths);
  const broken = new Set<number>();
  return (line) => {
    for (const { path, file } of outputs) {
      try {
        write(file, line);
        broken.delete(file);
      } catch (error) {
        if (broken.has(file)) continue;
        broken.add(file);
        for (const other of errors)
          tell(other.file, `cannot write logs to ${path}: ${error}`, write);
      }
    }
  };
}

function open(
  flag: string,
  paths: string,
): readonly { readonly path: string; readonly file: number }[] {
  const names = paths.split(",").map((path) => path.trim());
  return [...new Set(names)]
    .filter((path) => path !== "")
    .map((path) => {
      const stream = fieldOf(STREAMS, path);
      if (stream !== undefined) return { path, file: stream };
      try {
        return { path, file: openSync(path.replace(/^file:\/\//, ""), "a") };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new ConfigError(
          `--${flag}: cannot open ${path} (${code}); use stdout, stderr or a file`,
        );
      }
    });
}

function writeLine(file: number, line: string): void {
  // Writing to stdout or stderr waits for a slow reader by itself. Files are written synchronously.
  if (file === 1) process.stdout.write(`${line}\n`);
  else if (file === 2) process.stderr.write(`${line}\n`);
  else writeSync(file, `${line}\n`);
}

function tell(file: number, line: string, write: (file: number, line: string) => void): void {
  try {
    write(file, line);
  } catch {
    // The output for errors failed too, so the error cannot be reported.
  }
}
