/**
 * `npm run fuzz -- inputs`: feeds hostile texts to everything that reads texts from outside. The inputs run in a
 * process with a small heap, so that an input that hangs or fills the memory is found too. Each fault is printed with
 * the command that repeats and shrinks it.
 */
import { fork } from "node:child_process";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { faultOf, inputOf, shrunk } from "./check.ts";
import { TARGETS } from "./targets.ts";
import type { WorkerTask, WorkerWord } from "./worker.ts";

const WORKER = fileURLToPath(new URL("worker.ts", import.meta.url));
const MAX_REPORTS = 20;
/** An input hangs if the next one does not begin within this time. */
const HANGS_AFTER_MS = 60_000;
/** Loading the product takes 11 s of CPU time, and minutes of a busy machine. No input hangs before that. */
const STARTS_WITHIN_MS = 600_000;
const HEAP_MB = 1_024;
const TOLD_EVERY = 10_000;
/** Faults that an earlier input of the same process may have caused. */
const OF_PROCESS = /^(?:took more than|does not end|ended the process)/;

type WorkerFault = Required<WorkerWord>;

export interface FuzzInputs {
  readonly from: number;
  readonly count: number;
  readonly targets: readonly string[];
}

/** Returns the exit code. */
export async function fuzzInputs({ from, count, targets }: FuzzInputs): Promise<number> {
  const names = TARGETS.map(({ name }) => name);
  const strange = targets.find((name) => !names.includes(name));
  if (strange !== undefined) {
    process.stdout.write(`no target ${strange}; there are ${names.join(", ")}\n`);
    return 1;
  }
  const chosen = targets.length === 0 ? names : targets;
  const kinds = new Set<string>();
  const report = ({ at, fault }: WorkerFault): void => {
    const name = chosen[at % chosen.length] as string;
    const kind = `${name} ${fault.split("\n").slice(0, 2).join(" ").slice(0, 120)}`;
    // Each kind of fault is printed once.
    if (kinds.has(kind)) return;
    kinds.add(kind);
    const again = `npm run fuzz -- inputs --target ${name} --seed ${at}`;
    process.stdout.write(
      `${name}, seed ${at}:\n  ${fault.split("\n").slice(0, 4).join("\n  ")}\n  again: ${again}\n`,
    );
  };
  // A fault that does not occur in a fresh process (full memory, a paused machine) is not the input's.
  const alone: WorkerFault[] = [];
  const reportLater = (found: WorkerFault): void => {
    if (OF_PROCESS.test(found.fault)) alone.push(found);
    else report(found);
  };
  const end = from + count;
  for (let next = from; next < end && kinds.size < MAX_REPORTS; ) {
    next = await tryInputs({ from: next, to: end, targets: chosen }, reportLater);
    for (const { at, fault } of alone.splice(0)) {
      let isAgain = false;
      await tryInputs({ from: at, to: at + 1, targets: chosen }, (again) => {
        isAgain = true;
        report(again);
      });
      if (!isAgain)
        process.stdout.write(`input ${at}: ${fault}, and not in a process of its own\n`);
    }
  }
  const outcome = kinds.size === 0 ? "no fault" : `${kinds.size} kinds of faults`;
  process.stdout.write(`${count} inputs, ${outcome}\n`);
  return kinds.size === 0 ? 0 : 1;
}

/** Tries inputs until the end, or until one ends the process. Returns where to continue. */
function tryInputs(task: WorkerTask, report: (fault: WorkerFault) => void): Promise<number> {
  const child = fork(WORKER, { execArgv: [`--max-old-space-size=${HEAP_MB}`, "--import", "tsx"] });
  child.send(task);
  return new Promise((resolve) => {
    let [at, told] = [task.from, task.from];
    let [heardMs, limitMs] = [performance.now(), STARTS_WITHIN_MS];
    let isHung = false;
    const watch = setInterval(() => {
      if (performance.now() - heardMs < limitMs) return;
      isHung = true;
      child.kill("SIGKILL");
    }, 1_000);
    child.on("message", (word: WorkerWord) => {
      [at, heardMs, limitMs] = [word.at, performance.now(), HANGS_AFTER_MS];
      if (word.fault !== undefined) report({ at, fault: word.fault });
      if (at - told < TOLD_EVERY) return;
      told = at;
      process.stdout.write(`input ${at}\n`);
    });
    child.on("exit", (code, signal) => {
      clearInterval(watch);
      if (code === 0) return resolve(task.to);
      const how = isHung ? "does not end" : `ended the process: ${code ?? signal}`;
      report({ at, fault: how });
      return resolve(at + 1);
    });
  });
}

/** Tries one input again, shrinks it and writes it to a file. Returns the exit code. */
export async function fuzzInput(name: string, seed: number): Promise<number> {
  const target = TARGETS.find((one) => one.name === name);
  if (target === undefined) return fuzzInputs({ from: 0, count: 0, targets: [name] });
  const text = inputOf(target, seed);
  const fault = await faultOf(target, text, true);
  const small = fault === undefined ? text : await shrunk(target, text);
  const file = join(tmpdir(), `karpenter-fuzz-${name}-${seed}.txt`);
  writeFileSync(file, small);
  const shown = JSON.stringify(small).slice(0, 1_000);
  process.stdout.write(
    `${name}, seed ${seed}: ${fault ?? "no fault"}\n  ${text.length} characters, made small: ${small.length}, in ${file}\n  ${shown}\n`,
  );
  return fault === undefined ? 0 : 1;
}
