/**
 * `npm run fuzz -- mutants [NAME …] [--from N] [--seeds N]`: plays the days of calm/run.ts, or the named loop, with a
 * Karpenter that lacks one rule (mutants.ts), until the fault is seen. Days that cannot show the fault are skipped.
 * Days that also fail with the rule prove nothing. It works on a copy of the checkout.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Change, MUTANTS, type Mutant } from "./mutants.ts";
import { drawStory } from "./story.ts";
import type { Played } from "./worker.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** What is copied: files that are changed, and files that find others by their own location. */
const COPIED = [
  "src",
  "test",
  "package.json",
  "tsconfig.base.json",
  "tsconfig.json",
  "vitest.config.ts",
];
const SHARED = ["data", "deploy", "examples", "node_modules"];
const DEFAULT_COUNT = 20;

export interface MutantOptions {
  /** Names of mutants. Empty: all. */
  readonly names: readonly string[];
  readonly from: number;
  readonly seeds: number | undefined;
}

/** Plays the mutants. Returns the exit code. */
export async function tryMutants({
  names,
  from,
  seeds = DEFAULT_COUNT,
}: MutantOptions): Promise<number> {
  const unknown = names.find((name) => !MUTANTS.some((one) => one.name === name));
  if (unknown !== undefined) {
    process.stdout.write(`${unknown}: no such mutant\n${MUTANTS.map(described).join("")}`);
    return 1;
  }
  const root = copy();
  let missed = 0;
  try {
    for (const mutant of MUTANTS) {
      if (names.length > 0 && !names.includes(mutant.name)) continue;
      const seen = await tryMutant(mutant, root, from, seeds);
      if (!seen.isCaught) missed++;
      process.stdout.write(`${described(mutant).trimEnd()}: ${seen.told}\n`);
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  process.stdout.write(missed === 0 ? "all are seen\n" : `${missed} not seen\n`);
  return missed === 0 ? 0 : 1;
}

/** The file's text without the rule. Throws if the line is not in the file. */
export function mutated({ file, from, to }: Change, text: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times ${from}`);
  return parts.join(to);
}

function copy(): string {
  const root = mkdtempSync(join(tmpdir(), "karpenter-mutants-"));
  for (const one of COPIED) cpSync(join(ROOT, one), join(root, one), { recursive: true });
  for (const one of SHARED) symlinkSync(join(ROOT, one), join(root, one));
  return root;
}

export interface Seen {
  readonly isCaught: boolean;
  readonly told: string;
}

function tryMutant(mutant: Mutant, root: string, from: number, seeds: number): Promise<Seen> {
  const { loop, doubt } = mutant;
  if (loop !== undefined)
    return lacking(mutant, root, async () => playTest(root, "loops", `stay calm: '${loop}'`));
  if (doubt !== undefined)
    return lacking(mutant, root, async () => playTest(root, "doubts", `running pod '${doubt}'`));
  return seeDays(daysOf(mutant, from, seeds), {
    without: (days) => lacking(mutant, root, () => firstFault(root, days)),
    with: (days) => firstFault(root, days),
  });
}

/** Plays on the copy while the rule is removed. */
async function lacking<T>(mutant: Mutant, root: string, play: () => Promise<T>): Promise<T> {
  const before = changesOf(mutant).map((change) => {
    const file = join(root, change.file);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, mutated(change, text));
    return { file, text };
  });
  try {
    return await play();
  } finally {
    for (const { file, text } of before) writeFileSync(file, text);
  }
}

export function changesOf(mutant: Mutant): readonly Change[] {
  return [mutant, ...(mutant.also === undefined ? [] : [mutant.also])];
}

/** The first days that can show the fault. At least one in a hundred must. */
export function daysOf({ needs }: Mutant, from: number, count: number): readonly number[] {
  const days: number[] = [];
  for (let seed = from; seed < from + 100 * count && days.length < count; seed++)
    if (needs === undefined || needs(drawStory(seed))) days.push(seed);
  return days;
}

export interface DayFault {
  readonly seed: number;
  readonly fault: string;
}

/** A function that plays days until one fails, and returns its fault. */
type Play = (days: readonly number[]) => Promise<DayFault | undefined>;

/** The first day that fails without the rule and passes with it. */
export async function seeDays(
  days: readonly number[],
  play: { readonly without: Play; readonly with: Play },
): Promise<Seen> {
  const alike: number[] = [];
  const also = () => (alike.length === 0 ? "" : `; wrong with the rule as well: ${alike}`);
  for (let left = days; left.length > 0; ) {
    const found = await play.without(left);
    if (found === undefined) break;
    const { seed, fault } = found;
    left = days.slice(days.indexOf(seed) + 1);
    if ((await play.with([seed])) === undefined)
      return {
        isCaught: true,
        told: `seen after ${days.length - left.length}, seed ${seed}: ${fault}${also()}`,
      };
    alike.push(seed);
  }
  const told = `NOT SEEN in ${days.length} days: ${days.join(", ")}${also()}`;
  return { isCaught: false, told };
}

async function firstFault(root: string, days: readonly number[]): Promise<DayFault | undefined> {
  const worker = fork(join(root, "test/calm/worker.ts"), {
    cwd: root,
    execArgv: ["--import", "tsx"],
  });
  try {
    for (const day of days) {
      const { seed, faults } = await ask(worker, day);
      if (faults[0] !== undefined) return { seed, fault: faults[0].split("\n")[0] as string };
    }
    return undefined;
  } finally {
    worker.kill();
  }
}

function ask(worker: ChildProcess, seed: number): Promise<Pick<Played, "seed" | "faults">> {
  return new Promise((resolve) => {
    const end = (played: Pick<Played, "seed" | "faults">) => {
      worker.removeAllListeners();
      resolve(played);
    };
    worker.once("message", (played) => end(played as Played));
    worker.once("exit", (code) => end({ seed, faults: [`the process ended: ${code}`] }));
    worker.send(seed);
  });
}

/** Runs one test of a file. Throws if it could not run. */
function playTest(root: string, file: "loops" | "doubts", title: string): Seen {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", `test/calm/${file}.test.ts`, "-t", title],
    // The quick set of doubts, and all loops.
    { cwd: root, env: { ...process.env, ...ENV[file] }, encoding: "utf8" },
  );
  if (status === 0) return { isCaught: false, told: `NOT SEEN, ${title} passes` };
  const told = `${stdout}${stderr}`;
  if (!told.includes("AssertionError")) throw new Error(`${title} could not be played: ${told}`);
  return { isCaught: true, told: `${title} fails` };
}

const ENV = { loops: { CALM: "short" }, doubts: {} };

function described({ name, without }: Mutant): string {
  return `${name} (without ${without})\n`;
}
