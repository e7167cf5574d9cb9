/**
 * Runs a program of a bundle with several command lines, one after the other in this process. Then writes the code
 * that V8 compiled. It is a process of its own, because the Node and flags that later use the cache must write it.
 * `code-cache.ts` passes the `Task` as the only argument.
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

// Without this flag V8 drops the code of functions that were not called for a while.
setFlagsFromString("--no-flush-bytecode");
process.on("beforeExit", runNext);
runNext();

/** Runs the next command line when the event loop has nothing left of the last one. */
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
  // Restores the default, because V8 refuses a cache that was made with other flags.
  setFlagsFromString("--flush-bytecode");
  writeFileSync(fileURLToPath(new URL(`${file}.cache`, url)), part.script.createCachedData());
}
