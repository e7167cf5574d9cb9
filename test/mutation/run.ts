/**
 * A mutation run: puts small faults into `src/core`, one at a time, and asks whether a related test fails. It works in
 * a copy of the checkout, so the files here stay as they are.
 *
 *     npx tsx test/mutation/run.ts --count 500 --seed 1 --out mutants.jsonl
 *
 * Each line of the output is one mutant and its fate: `killed`, `hung` (counts as killed) or `survived`. A run that was
 * stopped goes on where it ended.
 *
 * - `--from N` leaves out the first N mutants.
 * - `--files TEXT` tries only mutants of files whose path contains the text.
 * - `--lots 2` leaves out tests of whole programs, which take most of the time.
 * - `--only survivors` tries the survivors of an earlier output again.
 */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { Random } from "../../src/base/random.ts";
import { ROOT, readSources, type SourceFile } from "../tidy/sources.ts";
import { drawn, mutationsOf, type SourceMutation } from "./mutants.ts";

type Fate = "killed" | "hung" | "survived";
type Tried = SourceMutation & { readonly fate: Fate };

/** Tests that take seconds. They run after the fast ones. */
const SLOW_TESTS = /prop\.test|remedy\.test|plan-batch\.test/;
/** Milliseconds. The related tests of one file take less than a tenth of this. */
const HANGS = 240_000;
/** What tests read besides their imports. */
const COPIED = [
  ...["src", "test", "bench", "scripts", "data", "deploy", "docs", "examples"],
  ...["package.json", "vitest.config.ts", "tsconfig.base.json"],
];
/** Tests whose subject is the text of the sources. They fail for any change, or for none. */
const NOT_ASKED = /^test\/(tidy|mutation|generated)/;

const { values: options } = parseArgs({
  options: {
    count: { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    from: { type: "string", default: "0" },
    files: { type: "string", default: "" },
    out: { type: "string", default: "mutants.jsonl" },
    lots: { type: "string", default: "3" },
    only: { type: "string", default: "" },
  },
});

const sources = ["src", "test"].flatMap(readSources);
const core = sources.filter(({ path, isTest }) => path.startsWith("src/core/") && !isTest);
const all = core.flatMap(({ path, text }) => mutationsOf(path, text));
const copy = copyOfCheckout();
const earlier = readTried(options.out);
const mutants =
  options.only === "survivors"
    ? survivorsAmong(earlier).filter(({ file }) => file.includes(options.files))
    : drawn(all, Number(options.count), new Random(options.seed))
        .filter(({ file }) => file.includes(options.files))
        .slice(Number(options.from) + earlier.length);
const out = options.only === "survivors" ? `${options.out}.again` : options.out;
// Were a test to fail without any fault, every mutant would count as killed.
const [first] = mutants;
if (first !== undefined && fateOf({ ...first, end: first.start, text: "" }) !== "survived")
  throw new Error(`a test of ${first.file} fails although the file is as it was`);
for (const mutant of mutants) {
  const tried = { ...mutant, fate: fateOf(mutant) };
  appendFileSync(out, `${JSON.stringify(tried)}\n`);
  console.log(`${tried.fate} ${mutant.file}:${mutant.line} ${mutant.kind}`);
}
report(readTried(out));

function copyOfCheckout(): string {
  const folder = mkdtempSync(join(tmpdir(), "mutation-"));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** The tests that reach the file by imports, in lots: near and fast ones first. */
function fateOf({ file, start, end, text }: SourceMutation): Fate {
  const source = readFileSync(join(ROOT, file), "utf8");
  writeFileSync(join(copy, file), source.slice(0, start) + text + source.slice(end));
  try {
    for (const lot of lotsFor(file)) {
      if (lot.length === 0) continue;
      const { status, error } = spawnSync(
        process.execPath,
        [
          "node_modules/vitest/vitest.mjs",
          "run",
          ...lot,
          "--bail",
          "1",
          "--maxWorkers",
          "1",
          "--reporter",
          "dot",
        ],
        { cwd: copy, stdio: "ignore", timeout: HANGS, killSignal: "SIGKILL" },
      );
      if (error !== undefined) return "hung";
      if (status !== 0) return "killed";
    }
    return "survived";
  } finally {
    writeFileSync(join(copy, file), source);
  }
}

function lotsFor(file: string): string[][] {
  const related = relatedTo(file);
  const isNear = (path: string) => path.startsWith(`${roomOf(file)}/`);
  const fast = related.filter((path) => isNear(path) && !SLOW_TESTS.test(path));
  const slow = related.filter((path) => isNear(path) && SLOW_TESTS.test(path));
  const others = related.filter((path) => path.startsWith("src/core/") && !isNear(path));
  const lots = [fast, [...slow, ...others], related.filter(isOutside)];
  return lots.slice(0, Number(options.lots));
}

/** Tests of whole programs that reach the core, of those that take seconds, not minutes. */
function isOutside(path: string): boolean {
  return /^(src\/(controllers|cli\/(plan|answers))|test\/(fuzz\/(inputs|passes)|plan-passes))/.test(
    path,
  );
}

/** `src/core/provisioning` for a file below it. */
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
  const distance = (path: string) => (dirname(path) === dirname(file) ? 0 : 1);
  return tests.sort((a, b) => distance(a) - distance(b) || (a < b ? -1 : 1));
}

function readTried(path: string): readonly Tried[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").trim().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Tried);
}

/** Found again by file, kind and text, because lines move. */
function survivorsAmong(tried: readonly Tried[]): readonly SourceMutation[] {
  const survivors = tried.filter(({ fate }) => fate === "survived");
  return survivors.flatMap((one) => {
    const alike = all.filter(
      ({ file, kind, text }) => file === one.file && kind === one.kind && text === one.text,
    );
    const nearest = alike.sort((a, b) => Math.abs(a.line - one.line) - Math.abs(b.line - one.line));
    return nearest.slice(0, 1);
  });
}

function report(tried: readonly Tried[]): void {
  const survivors = tried.filter(({ fate }) => fate === "survived");
  const share = (100 * (tried.length - survivors.length)) / Math.max(1, tried.length);
  console.log(`${tried.length} mutants, ${share.toFixed(1)} % killed`);
  const byFile = new Map<string, Tried[]>();
  for (const one of survivors) byFile.set(one.file, [...(byFile.get(one.file) ?? []), one]);
  for (const [file, some] of [...byFile].sort((a, b) => b[1].length - a[1].length))
    console.log(
      `${some.length} ${file}: ${some.map(({ line, kind }) => `${line} ${kind}`).join(", ")}`,
    );
}
