/**
 * Runs a program of a bundle by several command lines, one after the other in this one process, and writes what V8 has
 * compiled of it meanwhile. A program of its own: it must be run by the Node, with the flags, that is to take the cache.
 * `code-cache.ts` gives it its `Task` as the only argument.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { readPart } from "../../src/cli/program/load-program.ts";

export interface Task {
  /** URL of the bundle's folder, with a slash at its end. */
  readonly url: string;
  readonly file: string;
  readonly lazy: Readonly<Record<string, string>>;
  /** The program's name, then its arguments. */
  readonly commandLines: readonly (readonly string[])[];
}

const { url, file, lazy, commandLines } = JSON.parse(process.argv[2] as string) as Task;
const [node, self] = process.argv as [string, string];
const part = readPart(url, file, lazy);
const waiting = [...commandLines];

// V8 forgets what has not been called for a while.
setFlagsFromString("--no-flush-bytecode");
process.on("beforeExit", runNext);
runNext();

/** The next one starts when nothing is left of the one before. */
function runNext(): void {
  const next = waiting.shift();
  if (next === undefined || (process.exitCode ?? 0) !== 0) {
    process.off("beforeExit", runNext);
    if (next === undefined) keep();
    return;
  }
  const [name, ...args] = next;
  process.argv = [node, self, ...args];
  const { programs } = part.evaluate() as { programs: Record<string, () => unknown> };
  const start = programs[name as string];
  if (start === undefined) throw new Error(`the bundle has no program ${name}`);
  start();
}

function keep(): void {
  // As it was: a cache that was made with other flags is refused.
  setFlagsFromString("--flush-bytecode");
  writeFileSync(fileURLToPath(new URL(`${file}.cache`, url)), part.script.createCachedData());
}
