/**
 * `npm run bench -- cluster [shape …] [--pods N,N] [--runs N] [--settle S] [--only ours|upstream] [--logs DIR]
 * [--results FILE [--table]]`: runs upstream's operator for kwok and ours, one after the other, with the same NodePool
 * and workloads. Each runs on a fresh real control plane. Prints medians in one table.
 * `--results` keeps each run in a file and does not repeat runs that are in it; the table shows all of them. `--table`
 * only prints the table.
 */
import { mkdirSync } from "node:fs";
import { cells } from "../table.ts";
import { type Contestant, contestantsOf } from "./contestant.ts";
import { median, openResults, type Results } from "./results.ts";
import { type Phase, type Result, runOnce } from "./run.ts";
import { SUITE_NAMES, shapeOf } from "./shapes.ts";
import { scriptFlags } from "../../scripts/script-flags.ts";

const PODS = ["500", "2000", "5000", "10000"];
const OPERATORS = ["upstream", "ours"] as const;

export async function cluster(args: readonly string[]): Promise<void> {
  const { values, positionals } = scriptFlags(import.meta.url, {
    args: [...args],
    allowPositionals: true,
    options: {
      pods: { type: "string" },
      runs: { type: "string", default: "1" },
      // Longer than the operator can be idle between two actions: consolidateAfter 30 s, next round 10 s, validation 15
      // s, drain 5 s.
      settle: { type: "string", default: "70" },
      only: { type: "string" },
      logs: { type: "string" },
      results: { type: "string" },
      table: { type: "boolean", default: false },
      "node-flags": { type: "string", default: "" },
    },
  });
  const tell = (line: string): void => { process.stderr.write(`${line}\n`); };
  const results = openResults<Result>(values.results);
  if (!values.table) {
    const asked = [...(values.pods?.split(",") ?? []), ...positionals];
    const contestants = await contestantsOf(values.only, values["node-flags"], tell);
    if (values.logs !== undefined) mkdirSync(values.logs, { recursive: true });
    const settleMs = Number(values.settle) * 1_000;
    const plan = { contestants, runs: Number(values.runs), settleMs, keepLogsIn: values.logs };
    await measure(asked.length > 0 ? asked : [...PODS, ...SUITE_NAMES], plan, results, tell);
  }
  process.stdout.write(`${[...HEAD, ...results.rows().flatMap((row) => linesOf(row, results))].join("\n")}\n`);
}

interface Plan {
  readonly contestants: readonly Contestant[];
  readonly runs: number;
  readonly settleMs: number;
  readonly keepLogsIn: string | undefined;
}

async function measure(
  names: readonly string[],
  { contestants, runs, settleMs, keepLogsIn }: Plan,
  results: Results<Result>,
  tell: (line: string) => void,
): Promise<void> {
  for (const shape of names.map(shapeOf)) {
    for (let run = 0; run < runs; run++) {
      for (const contestant of contestants) {
        if (results.of(shape.name, contestant.name).length > run) continue;
        try {
          const result = await runOnce({ contestant, shape, settleMs, keepLogsIn });
          results.add(shape.name, contestant.name, result);
          tell(operatorLines(shape.name, contestant.name, results).join("\n"));
        } catch (error) {
          // A row that fails sets the exit code. The other rows are still measured.
          process.exitCode = 1;
          tell(`${shape.name}, ${contestant.name}: ${(error as Error).message}`);
        }
      }
    }
  }
}

const TITLES = [
  "workload", "", "operator", "s to Ready: p50", "p99", "last", "nodes", "$/h", "CPU s", "peak RSS MiB", "API calls",
];
const HEAD = [cells(TITLES), cells(TITLES.map(() => "---"))];

function linesOf(row: string, results: Results<Result>): string[] {
  return [...OPERATORS.flatMap((operator) => operatorLines(row, operator, results)), ...ratioLines(row, results)];
}

function operatorLines(row: string, operator: string, kept: Results<Result>): string[] {
  const results = kept.of(row, operator);
  if (results.length === 0) return [];
  const of = (read: (result: Result) => number): number => median(results.map(read));
  const line = (way: string, phase: (result: Result) => Phase, rss: string): string =>
    cells([
      row,
      way,
      operator,
      way === "up" ? of((one) => phase(one).p50).toFixed(1) : "",
      way === "up" ? of((one) => phase(one).p99).toFixed(1) : "",
      of((one) => phase(one).last).toFixed(1),
      String(of((one) => phase(one).nodes)),
      of((one) => phase(one).dollarsPerHour).toFixed(2),
      of((one) => phase(one).cpuSeconds).toFixed(1),
      rss,
      callsText(results.map((one) => phase(one).calls)),
    ]);
  return [
    line("up", ({ up }) => up, ""),
    line("down", ({ down }) => down, of((one) => one.peakRssMib).toFixed(0)),
  ];
}

/** Our figures divided by upstream's, if both were run. */
function ratioLines(row: string, kept: Results<Result>): string[] {
  const [theirs, own] = OPERATORS.map((operator) => kept.of(row, operator));
  if (theirs === undefined || own === undefined || theirs.length === 0 || own.length === 0) return [];
  const ratio = (read: (result: Result) => number): string => {
    const [over, under] = [median(own.map(read)), median(theirs.map(read))];
    return under === 0 ? "" : (over / under).toFixed(2);
  };
  const line = (way: string, phase: (result: Result) => Phase, rss: string): string =>
    cells([
      row,
      way,
      "ours / upstream",
      way === "up" ? ratio((one) => phase(one).p50) : "",
      way === "up" ? ratio((one) => phase(one).p99) : "",
      ratio((one) => phase(one).last),
      ratio((one) => phase(one).nodes),
      ratio((one) => phase(one).dollarsPerHour),
      ratio((one) => phase(one).cpuSeconds),
      rss,
      ratio((one) => Object.values(phase(one).calls).reduce((sum, count) => sum + count, 0)),
    ]);
  return [
    line("up", ({ up }) => up, ""),
    line("down", ({ down }) => down, ratio((one) => one.peakRssMib)),
  ];
}

/** Calls of the first run by verb, most frequent first. */
function callsText([calls = {}]: readonly Readonly<Record<string, number>>[]): string {
  return Object.entries(calls)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([verb, count]) => `${verb} ${count}`)
    .join(", ");
}
