/**
 * `npm run bench -- settled [C-name …] [--nodes N] [--only ours|upstream] [--settle S] [--results FILE [--table]]
 * [--plot FILE] [--logs DIR]`: cost of a cluster after consolidation has settled. Upstream's operator for kwok and ours
 * run one after the other, each on a fresh real control plane, with the same workload and catalogue
 * (bench/scenarios-c.ts).
 * Prints one table with the lower bound (bound.ts), and draws the price over time to docs/settled.svg. Scenarios that
 * are in the file of `--results` are not played again.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lowerBound } from "../bound.ts";
import { type Contestant, contestantsOf } from "../cluster/contestant.ts";
import { openResults, type Results } from "../cluster/results.ts";
import { chosenC, type ScenarioC, workloadOf } from "../scenarios-c.ts";
import { cells } from "../table.ts";
import { type Played, type Point, play } from "./play.ts";
import { drawn } from "./plot.ts";
import { scriptFlags } from "../../scripts/script-flags.ts";

const OPERATORS = ["upstream", "ours"] as const;
const MEAN_SECONDS = 600;
const PICTURE = fileURLToPath(new URL("../../docs/settled.svg", import.meta.url));

/** A played scenario, with the lower bound computed at that time. */
export interface Outcome extends Played {
  readonly boundDollarsPerHour: number;
}

export async function settled(args: readonly string[]): Promise<void> {
  const { values, positionals } = scriptFlags(import.meta.url, {
    args: [...args],
    allowPositionals: true,
    options: {
      nodes: { type: "string", default: "20" },
      settle: { type: "string", default: "120" },
      only: { type: "string" },
      logs: { type: "string" },
      results: { type: "string" },
      table: { type: "boolean", default: false },
      plot: { type: "string", default: PICTURE },
      "node-flags": { type: "string", default: "" },
    },
  });
  const tell = (line: string): void => { process.stderr.write(`${line}\n`); };
  const results = openResults<Outcome>(values.results);
  if (!values.table) {
    const contestants = await contestantsOf(values.only, values["node-flags"], tell);
    if (values.logs !== undefined) mkdirSync(values.logs, { recursive: true });
    const settleMs = Number(values.settle) * 1_000;
    const options = { settleMs, keepLogsIn: values.logs };
    for (const scenario of chosenC(positionals, Number(values.nodes)))
      await compare(scenario, contestants, options, results, tell);
  }
  const rows = results.rows().flatMap((row) => linesOf(row, results));
  process.stdout.write(`${[...HEAD, ...rows].join("\n")}\n`);
  // Keeps the existing picture if there is nothing to draw.
  if (rows.length > 0)
    writeFileSync(values.plot, drawn(results.rows().map((row) => panelOf(row, results))));
}

async function compare(
  scenario: ScenarioC,
  contestants: readonly Contestant[],
  options: { readonly settleMs: number; readonly keepLogsIn: string | undefined },
  results: Results<Outcome>,
  tell: (line: string) => void,
): Promise<void> {
  const boundDollarsPerHour = (await lowerBound(workloadOf(scenario, "down"), scenario.bound === "quick")) / 1e6;
  for (const contestant of contestants) {
    if (results.of(scenario.name, contestant.name).length > 0) continue;
    try {
      const played = await play({ contestant, scenario, ...options });
      results.add(scenario.name, contestant.name, { ...played, boundDollarsPerHour });
      tell(linesOf(scenario.name, results).at(-1) ?? "");
    } catch (error) {
      // A scenario that fails sets the exit code. The other scenarios are still played.
      process.exitCode = 1;
      tell(`${scenario.name}, ${contestant.name}: ${(error as Error).message}`);
    }
  }
}

const TITLES = [
  "scenario", "operator", "nodes, all pods", "settled", "$/h, all pods", "settled", "at least", "over that",
  "pods moved", "moved for a dollar an hour", "seconds to settle", "$/h, mean of the first 10 minutes",
];
const HEAD = [cells(TITLES), cells(TITLES.map(() => "---"))];

function linesOf(row: string, results: Results<Outcome>): string[] {
  return OPERATORS.flatMap((operator) => {
    const one = results.of(row, operator).at(-1);
    if (one === undefined) return [];
    const { before, settled: after, boundDollarsPerHour: bound, moved } = one;
    const saved = before.dollarsPerHour - after.dollarsPerHour;
    return [
      cells([
        row,
        operator,
        String(before.nodes),
        String(after.nodes),
        before.dollarsPerHour.toFixed(2),
        after.dollarsPerHour.toFixed(2),
        bound.toFixed(2),
        `${((after.dollarsPerHour / bound - 1) * 100).toFixed(1)} %`,
        String(moved),
        saved > 0 ? (moved / saved).toFixed(1) : "",
        one.settleSeconds.toFixed(0),
        meanDollarsPerHour(one.course, MEAN_SECONDS).toFixed(2),
      ]),
    ];
  });
}

/** Mean price from second 0 to `until`. The last price lasts until then. */
function meanDollarsPerHour(course: readonly Point[], until: number): number {
  let sum = 0;
  course.forEach(({ second, dollarsPerHour }, at) => {
    const from = Math.max(0, second);
    const to = Math.min(until, course[at + 1]?.second ?? until);
    if (to > from) sum += dollarsPerHour * (to - from);
  });
  return sum / until;
}

function panelOf(row: string, results: Results<Outcome>) {
  const courses = OPERATORS.map((operator) => results.of(row, operator).at(-1)?.course ?? []);
  const bound = OPERATORS.map((operator) => results.of(row, operator).at(-1)?.boundDollarsPerHour);
  return { name: row, courses, bound: bound.find((one) => one !== undefined) ?? 0 };
}
