/**
 * `npm run bench -- speed [workload …] [--runs N] [--ours] [--greedy]`: times our engine and upstream's on the same
 * workload files. Each run is a new process, and the engines alternate. Prints medians and three ratios: of time, of
 * CPU time, and of upstream's CPU time to that of our planning thread. The last depends least on other load.
 * Upstream runs with one worker and with two; its better median counts. Without Go only ours runs. Ours runs as in the
 * image (`ours-program.ts`). `--greedy`: only upstream's greedy rules, without the planner. One more run of ours, not
 * timed, is checked by the validator, unless `--no-validate`. An invalid plan fails the bench.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type OursProgram, prepareOurs, runOurs } from "./ours-program.ts";
import type { RunReport } from "./run-report.ts";
import { buildUpstream } from "./upstream-program.ts";
import { WORKLOADS } from "./workloads.ts";

/** Upstream would need ten minutes or more for these. */
const TOO_LARGE_FOR_UPSTREAM = new Set(["U-mix-100k", "U-generic-1M", "H-1M"]);

export async function speed(args: readonly string[]): Promise<void> {
  const greedy = args.includes("--greedy");
  const isValidated = !args.includes("--no-validate");
  const runs = numberAfter(args, "--runs") ?? 5;
  const asked = args.filter((arg, index) => arg in WORKLOADS && args[index - 1] !== "--runs");
  const stray = args.find((arg) => !arg.startsWith("--") && !(arg in WORKLOADS) && !/^\d+$/.test(arg));
  if (stray !== undefined) {
    throw new Error(`no workload ${stray}; there are ${Object.keys(WORKLOADS).join(", ")}`);
  }
  const folder = mkdtempSync(join(tmpdir(), "karpenter-bench-"));
  try {
    const upstream = args.includes("--ours") ? undefined : buildUpstream(folder);
    const program = await prepareOurs(join(folder, "ours"), (line) => process.stdout.write(`${line}\n`));
    print(HEAD);
    print(HEAD.map((title) => "-".repeat(title.length)));
    for (const name of asked.length > 0 ? asked : Object.keys(WORKLOADS)) {
      // A workload that fails does not end the run, because a run of all takes an hour.
      try {
        const file = join(folder, `${name}.json`);
        const workload = await (WORKLOADS[name] as (typeof WORKLOADS)[string])();
        writeFileSync(file, JSON.stringify(workload));
        compare(program, name, file, runs, greedy, TOO_LARGE_FOR_UPSTREAM.has(name) ? undefined : upstream, isValidated);
      } catch (error) {
        const isAsked = asked.includes(name) || !isWithoutTrace(name);
        process.stdout.write(`${name}: left out: ${error instanceof Error ? error.message : error}\n`);
        if (isAsked) process.exitCode = 1;
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Whether this is the workload of a trace whose file is missing. The file is not part of this repository. */
function isWithoutTrace(name: string): boolean {
  return name === "T-openb" && process.env["OPENB_CSV"] === undefined;
}

const HEAD = ["workload      ", "engine       ", "   median ms", "(min - max)        ", "   pods/s", "nodes ", "      $/h", "left", "  cpu ms", "thread ms", "rss MB", " ratio", "cpu ratio", "thread ratio"];

function compare(
  program: OursProgram,
  name: string,
  file: string,
  runs: number,
  greedy: boolean,
  upstream: string | undefined,
  isValidated: boolean,
): void {
  const ours: RunReport[] = [];
  const candidates = [1, 2].map((workers) => ({ workers, engine: `upstream, ${workers}w`, reports: [] as RunReport[] }));
  const opponents = upstream === undefined ? [] : candidates;
  // The engines alternate, so a machine that is slower for some minutes is slower for both.
  for (let at = 0; at < runs; at++) {
    ours.push(runOurs(program, file, greedy ? ["--greedy"] : []));
    for (const { workers, reports } of opponents)
      reports.push(JSON.parse(run(upstream as string, ["-workers", String(workers), file])));
  }
  const ratio = (of: (report: RunReport) => number): string => {
    const best = Math.min(...opponents.map(({ reports }) => median(reports, of)));
    return opponents.length === 0 ? "" : `${(best / median(ours, of)).toFixed(1)}x`;
  };
  row(name, "ours", ours, [ratio(timeMs), ratio(cpuMs), ratio(threadMs)]);
  for (const { engine, reports } of opponents) row("", engine, reports, []);
  if (isValidated) judge(name, runOurs(program, file, [...(greedy ? ["--greedy"] : []), "--validate"]));
}

function judge(name: string, { faults = [] }: RunReport): void {
  for (const fault of faults.slice(0, 5)) process.stdout.write(`${name}: the plan does not stand: ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${stderr}`);
  return stdout;
}

/** The time of Solve and of its preparation, because our time includes the set-up of scheduler and topology. */
function timeMs(report: RunReport): number {
  return report.setupMs + report.solveMs;
}

/** CPU time. Other load on the machine inflates it less than the wall time. */
function cpuMs(report: RunReport): number {
  return report.cpuMs;
}

function threadMs(report: RunReport): number {
  return report.threadMs ?? report.cpuMs;
}

function median(reports: readonly RunReport[], of: (report: RunReport) => number): number {
  const sorted = reports.map(of).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}

function row(
  name: string,
  engine: string,
  reports: readonly RunReport[],
  ratios: readonly string[],
): void {
  const times = reports.map(timeMs);
  const [{ pods, nodes, unschedulable, rssBytes: rss }] = reports as [RunReport];
  const prices = reports.map((one) => one.priceMicroUsdPerHour / 1e6);
  const spread = (values: readonly number[], digits: number): string =>
    `${Math.min(...values).toFixed(digits)} - ${Math.max(...values).toFixed(digits)}`;
  const ms = median(reports, timeMs);
  print([
    name,
    engine,
    ms.toFixed(1),
    `(${spread(times, 1)})`,
    String(Math.round((pods / ms) * 1_000)),
    String(nodes),
    Math.min(...prices).toFixed(2),
    String(unschedulable),
    median(reports, cpuMs).toFixed(0),
    reports.some((one) => one.threadMs !== undefined) ? median(reports, threadMs).toFixed(0) : "",
    rss === undefined ? "" : (rss / 2 ** 20).toFixed(0),
    ...ratios,
  ]);
}

function print(cells: readonly string[]): void {
  const widths = HEAD.map((title) => title.length);
  const text = cells.map((cell, column) => {
    const width = widths[column] as number;
    return column < 2 || column === 3 ? cell.padEnd(width) : cell.padStart(width);
  });
  process.stdout.write(`${text.join(" ").trimEnd()}\n`);
}

function numberAfter(args: readonly string[], flag: string): number | undefined {
  const at = args.indexOf(flag);
  if (at < 0) return undefined;
  const value = Number(args[at + 1]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${flag}: wanted a number of runs`);
  return value;
}
