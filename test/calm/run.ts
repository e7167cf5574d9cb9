/**
 * `npm run fuzz -- calm [--from N] [--seeds N] [--workers N]`: random days of random clusters on virtual time, checked
 * by a witness. As many run in parallel as there are cores. Prints what was tried and how to continue after an
 * interruption. A failure comes with the command that repeats it: `--seed N --verbose` prints that day's story and
 * events.
 */
import { type ChildProcess, fork } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { play } from "./play.ts";
import { drawStory } from "./story.ts";
import type { Played } from "./worker.ts";

const DEFAULT_COUNT = 500;
const MAX_REPORTS = 10;
/** A new process after this number of days, so that leftovers of one day do not affect many others. */
const SEEDS_PER_PROCESS = 40;
/** Milliseconds of wall time after which a day counts as stuck. A day takes seconds, on a busy machine minutes. */
const STUCK_MS = 30 * 60_000;
const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

export interface CalmOptions {
  readonly from: number;
  readonly seeds: number | undefined;
  readonly workers: number | undefined;
}

/** Plays one day and prints its events. Returns the exit code. */
export async function calmDay(seed: number, verbose: boolean): Promise<number> {
  const story = drawStory(seed);
  const { faults, virtualMs, steps, kills, trace } = await play(story);
  if (verbose) process.stdout.write(`${JSON.stringify(story, null, 1)}\n${trace.join("\n")}\n`);
  for (const fault of faults) process.stdout.write(`${fault}\n`);
  const hours = (virtualMs / 3_600_000).toFixed(1);
  process.stdout.write(
    `seed ${seed}: ${hours} virtual hours, ${steps} steps, ${kills} restarts, ${faults.length === 0 ? "no fault" : "failed"}\n`,
  );
  return faults.length === 0 ? 0 : 1;
}

/** Plays the days. Returns the exit code. */
export async function calm({ from, seeds = DEFAULT_COUNT, workers }: CalmOptions): Promise<number> {
  const count = Math.min(seeds, workers ?? availableParallelism());
  const sum = { seeds: 0, failed: 0, hours: 0, steps: 0, kills: 0, cpuMs: 0 };
  const open = new Set(Array.from({ length: seeds }, (_, at) => from + at));
  let next = from;
  const take = () => (next < from + seeds && sum.failed < MAX_REPORTS ? next++ : undefined);
  process.once("SIGINT", () => {
    process.stdout.write(`${told(sum)}; go on with ${rest(open)}\n`);
    process.exit(1);
  });
  await Promise.all(
    Array.from({ length: count }, () =>
      workThrough(take, (played) => {
        open.delete(played.seed);
        add(sum, played);
        if (played.faults.length > 0) process.stdout.write(failure(played));
        if (sum.seeds % 10 === 0) process.stdout.write(`${told(sum)}\n`);
      }),
    ),
  );
  const end = sum.failed === 0 ? "no fault" : `${sum.failed} failed`;
  const left = open.size === 0 ? "" : `; go on with ${rest(open)}`;
  process.stdout.write(`${told(sum)}, ${end}${left}\n`);
  return sum.failed === 0 ? 0 : 1;
}

async function workThrough(
  take: () => number | undefined,
  done: (played: Played) => void,
): Promise<void> {
  let child: ChildProcess | undefined;
  let used = 0;
  for (let seed = take(); seed !== undefined; seed = take()) {
    if (used++ % SEEDS_PER_PROCESS === 0) {
      child?.kill();
      // Most objects are short-lived: a larger young generation saves a third of garbage collection.
      child = fork(WORKER, { execArgv: ["--max-semi-space-size=64", "--import", "tsx"] });
    }
    const played = await ask(child as ChildProcess, seed);
    // The process died or is stuck, so nothing is known about its day.
    if (played.steps === 0) used = 0;
    done(played);
  }
  child?.kill();
}

function ask(child: ChildProcess, seed: number): Promise<Played> {
  return new Promise((resolve) => {
    const end = (played: Played) => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(played);
    };
    const lost = (fault: string) =>
      end({ seed, faults: [fault], virtualMs: 0, steps: 0, kills: 0, cpuMs: 0 });
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      lost(`not over after ${STUCK_MS / 60_000} minutes`);
    }, STUCK_MS);
    child.once("message", (message) => end(message as Played));
    child.once("exit", (code, signal) => lost(`the process ended: ${signal ?? code}`));
    child.send(seed);
  });
}

type Sum = Record<"seeds" | "failed" | "hours" | "steps" | "kills" | "cpuMs", number>;

function add(sum: Sum, { faults, virtualMs, steps, kills, cpuMs }: Played): void {
  sum.seeds++;
  if (faults.length > 0) sum.failed++;
  sum.hours += virtualMs / 3_600_000;
  sum.steps += steps;
  sum.kills += kills;
  sum.cpuMs += cpuMs;
}

function failure({ seed, faults }: Played): string {
  const lines = [
    `seed ${seed}:`,
    ...faults.map((fault) => `  ${fault}`),
    `  again: npm run fuzz -- calm --seed ${seed} --verbose`,
  ];
  return `${lines.join("\n")}\n`;
}

function rest(open: ReadonlySet<number>): string {
  const first = Math.min(...open);
  return `--from ${first} --seeds ${Math.max(...open) - first + 1}`;
}

function told({ seeds, hours, steps, kills, cpuMs }: Sum): string {
  const cpu = (cpuMs / 1_000 / Math.max(1, seeds)).toFixed(1);
  return `${seeds} seeds, ${hours.toFixed(0)} virtual hours, ${steps} steps, ${kills} restarts of Karpenter, ${cpu} s of cpu a seed`;
}
