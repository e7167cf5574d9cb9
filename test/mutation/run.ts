/**
 * A mutation run: puts small faults into `src/core`, one at a time, and asks whether a related test fails. It works in
 * a copy of the checkout, so the files here stay as they are.
 *
 *     npx tsx test/mutation/run.ts --count 500 --seed 1 --out mutants.jsonl
 *
 * Each line of the output is one mutant and its outcome: `killed` with the test that failed, `hung` (counts as killed)
 * or `survived`. A run that was stopped goes on where it ended.
 *
 * - `--from N` leaves out the first N mutants.
 * - `--files TEXT` tries only mutants of files whose path contains the text.
 * - `--lots N` asks fewer tests. 1: the fast tests of the core; 2: its slow tests, too; 3: tests of controllers and
 *   commands, too; 4, which is the default: suites of whole programs, too.
 * - `--only survivors` tries the mutants again that survived in an earlier output.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { scriptFlags } from "../../scripts/script-flags.ts";
import { Random } from "../../src/base/random.ts";
import { ROOT, readSources, type SourceFile } from "../tidy/sources.ts";
import type { Answer, AskedTests } from "./asker.ts";
import { drawn, mutationsOf, type SourceMutation } from "./mutants.ts";

interface Fate {
  readonly fate: "killed" | "hung" | "survived";
  /** The test file that failed. */
  readonly by?: string;
}
type Tried = SourceMutation & Fate;

/** Slow tests of the core, about a second each. They run after the fast ones. */
const SLOW_TESTS = /prop\.test|remedy\.test|plan-batch\.test/;
/** Tests of controllers and commands that take at most two seconds, 30 together. */
const OUTSIDE = /^src\/(controllers|cli\/(plan\/plan\.|answers))|^test\/plan-passes/;
/** Suites of whole programs that notice wrong plans, 60 seconds together. */
const WHOLE = /^test\/(answers|places|sticky-passes|fuzz\/(inputs|passes))|plan-order/;
/** CPU seconds after which a mutant counts as hung. The tests of one lot take much less. */
const HANGS = 100;
/** Milliseconds between two checks of the tests' CPU time. */
const LOOK = 5_000;
/** What is copied for the tests: sources, and files that tests read without an import. */
const COPIED = [
  ...["src", "test", "bench", "scripts", "data", "deploy", "docs", "examples"],
  ...["package.json", "vitest.config.ts", "tsconfig.base.json"],
];
/** Tests of the sources' text. Each mutant would fail them, or none. */
const NOT_ASKED = /^test\/(tidy|mutation|generated)/;

const { values: options } = scriptFlags(import.meta.url, {
  options: {
    count: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    from: { type: "string", default: "0" },
    files: { type: "string", default: "" },
    out: { type: "string", default: "mutants.jsonl" },
    lots: { type: "string", default: "4" },
    only: { type: "string", default: "" },
  },
});

const sources = ["src", "test"].flatMap(readSources);
const core = sources.filter(({ path, isTest }) => path.startsWith("src/core/") && !isTest);
const everything = core.flatMap(({ path, text }) => mutationsOf(path, text));
const all = everything.filter(({ harmless }) => harmless === undefined);
const copy = copyOfCheckout();
let asker: ChildProcess | undefined;
const earlier = readTried(options.out);
const mutants =
  options.only === "survivors"
    ? survivorsAmong(earlier).filter(({ file }) => file.includes(options.files))
    : drawn(all, Number(options.count), new Random(options.seed))
        .filter(({ file }) => file.includes(options.files))
        .slice(Number(options.from) + earlier.length);
for (const why of ["sign", "pause", "speed"] as const)
  console.log(`not drawn: ${everything.filter(({ harmless }) => harmless === why).length} ${why}`);
console.log(`drawn from ${all.length}`);
const out = options.only === "survivors" ? `${options.out}.again` : options.out;
await expectNoFault();
for (const mutant of mutants) {
  const fate = await fateOf(mutant);
  appendFileSync(out, `${JSON.stringify({ ...mutant, ...fate })}\n`);
  console.log(`${fate.fate} ${mutant.file}:${mutant.line} ${mutant.kind} ${fate.by ?? ""}`);
}
await expectNoFault();
asker?.kill("SIGKILL");
rmSync(copy, { recursive: true });
report(readTried(out));

function copyOfCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), "mutation-"));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** Runs the tests without a fault. If one failed, every mutant would count as killed. */
async function expectNoFault(): Promise<void> {
  const [first] = mutants;
  if (first === undefined) return;
  const { by } = await fateOf({ ...first, end: first.start, text: "" });
  if (by !== undefined) throw new Error(`${by} fails although ${first.file} is as it was`);
}

async function fateOf({ file, start, end, text }: SourceMutation): Promise<Fate> {
  const source = textOf(file);
  writeFileSync(join(copy, file), source.slice(0, start) + text + source.slice(end));
  try {
    for (const tests of lotsFor(file)) {
      const answer = await answerTo({ file, tests });
      if (answer === undefined) return { fate: "hung" };
      if (answer.killer !== null) return { fate: "killed", by: answer.killer };
    }
    return { fate: "survived" };
  } finally {
    writeFileSync(join(copy, file), source);
  }
}

/** The file's text when the run began: the checkout may be edited meanwhile. */
function textOf(file: string): string {
  return core.find(({ path }) => path === file)?.text ?? "";
}

/** Runs the tests in the other process. Undefined if they hang. */
async function answerTo(question: AskedTests): Promise<Answer | undefined> {
  asker ??= await startAsker();
  asker.send(question);
  const begun = secondsOf(asker);
  const timer = setInterval(() => {
    if (asker !== undefined && secondsOf(asker) > begun + HANGS) asker.kill("SIGKILL");
  }, LOOK);
  const done = new AbortController();
  const { signal } = done;
  const [answer] = await Promise.race([
    once(asker, "message", { signal }),
    once(asker, "exit", { signal }),
  ]);
  done.abort();
  clearInterval(timer);
  if (typeof answer === "object" && answer !== null) return answer as Answer;
  asker = undefined;
  return undefined;
}

/** CPU seconds of the process and its workers. Wall time is no measure: on a busy machine a test waits for a core. */
function secondsOf({ pid }: ChildProcess): number {
  const args = ["-o", "cputimes=", "--pid", String(pid), "--ppid", String(pid)];
  const times = execFileSync("ps", args, { encoding: "utf8" }).trim().split("\n");
  return times.reduce((sum, one) => sum + Number(one), 0);
}

async function startAsker(): Promise<ChildProcess> {
  const started = fork(join(copy, "test/mutation/asker.ts"), { cwd: copy, stdio: "ignore" });
  await once(started, "message");
  return started;
}

/** The tests that import the file, directly or not, in lots: fast ones first, and in each lot the nearest first. */
function lotsFor(file: string): string[][] {
  const related = relatedTo(file);
  const inCore = related.filter((path) => path.startsWith("src/core/"));
  const isSlow = (path: string) => SLOW_TESTS.test(path);
  const lots = [
    inCore.filter((path) => !isSlow(path)),
    inCore.filter(isSlow),
    related.filter((path) => OUTSIDE.test(path)),
    related.filter((path) => WHOLE.test(path)),
  ];
  return lots.slice(0, Number(options.lots)).filter((lot) => lot.length > 0);
}

/** The folder two levels below `src` that contains a file, such as `src/core/provisioning`. */
function roomOf(file: string): string {
  return file.split("/").slice(0, 3).join("/");
}

function relatedTo(file: string): string[] {
  const importers = new Map<string, SourceFile[]>();
  for (const source of sources)
    for (const target of source.imports)
      importers.set(target, [...(importers.get(target) ?? []), source]);
  const reached = new Set([file]);
  for (const path of reached)
    for (const source of importers.get(path) ?? []) reached.add(source.path);
  const tests = [...reached].filter((path) => path.endsWith(".test.ts") && !NOT_ASKED.test(path));
  const distance = (path: string) =>
    dirname(path) === dirname(file) ? 0 : roomOf(path) === roomOf(file) ? 1 : 2;
  return tests.sort((a, b) => distance(a) - distance(b) || (a < b ? -1 : 1));
}

function readTried(path: string): readonly Tried[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trim().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Tried);
}

/**
 * The mutants that survived in an earlier output, found in the current source by file, kind and text, because lines
 * move.
 */
function survivorsAmong(tried: readonly Tried[]): readonly SourceMutation[] {
  return tried.filter(isSurvivor).flatMap((one) => {
    const alike = all.filter(
      ({ file, kind, text }) => file === one.file && kind === one.kind && text === one.text,
    );
    const nearest = alike.sort((a, b) => Math.abs(a.line - one.line) - Math.abs(b.line - one.line));
    return nearest.slice(0, 1);
  });
}

function report(tried: readonly Tried[]): void {
  console.log(`all: ${shareOf(tried)}`);
  const rooms = new Set(tried.map(({ file }) => roomOf(file)));
  for (const room of [...rooms].sort())
    console.log(`${room}: ${shareOf(tried.filter(({ file }) => roomOf(file) === room))}`);
  for (const { file, line, kind } of tried.filter(isSurvivor))
    console.log(`survived ${file}:${line} ${kind}`);
}

function shareOf(tried: readonly Tried[]): string {
  const killed = tried.length - tried.filter(isSurvivor).length;
  const share = (100 * killed) / Math.max(1, tried.length);
  const byCore = tried.filter(({ by }) => by?.startsWith("src/core/")).length;
  return `${killed} of ${tried.length} killed (${share.toFixed(1)} %), ${byCore} by tests of the core`;
}

function isSurvivor({ fate }: Tried): boolean {
  return fate === "survived";
}
