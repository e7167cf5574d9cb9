/**
 * `npm run bench -- cluster [shape …] [--pods N,N] [--runs N] [--settle S] [--only ours|upstream] [--logs DIR]`:
 * upstream's kwok operator and ours, one after the other, each on a fresh real control plane, with the same
 * NodePool and workloads. Medians of the runs in one table, which is printed anew after every run.
 */
import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { type Contestant, ours, upstream } from "./contestant.ts";
import { type Phase, type Result, runOnce } from "./run.ts";
import { type Shape, SUITE_NAMES, shapeOf } from "./shapes.ts";

const PODS = ["500", "2000", "5000", "10000"];

export async function cluster(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      pods: { type: "string" },
      runs: { type: "string", default: "1" },
      settle: { type: "string", default: "90" },
      only: { type: "string" },
      logs: { type: "string" },
      "node-flags": { type: "string", default: "" },
    },
  });
  const asked = [...(values.pods?.split(",") ?? []), ...positionals];
  const shapes = (asked.length > 0 ? asked : [...PODS, ...SUITE_NAMES]).map(shapeOf);
  const tell = (line: string): void => void process.stderr.write(`${line}\n`);
  const flags = values["node-flags"].split(" ").filter((flag) => flag !== "");
  const contestants: Contestant[] = [];
  if (values.only !== "ours") contestants.push(upstream(tell));
  if (values.only !== "upstream") contestants.push(ours(flags));
  if (values.logs !== undefined) mkdirSync(values.logs, { recursive: true });

  const rows: Row[] = [];
  for (const shape of shapes) {
    for (const contestant of contestants) {
      const results: Result[] = [];
      const row = { shape, contestant, results };
      rows.push(row);
      for (let run = 0; run < Number(values.runs); run++) {
        try {
          const settleMs = Number(values.settle) * 1_000;
          const keepLogsIn = values.logs;
          results.push(await runOnce({ contestant, shape, settleMs, keepLogsIn }));
          tell(linesOf(row).join("\n"));
        } catch (error) {
          // The other rows are worth having.
          tell(`${shape.name}, ${contestant.name}: ${(error as Error).message}`);
        }
      }
    }
  }
  process.stdout.write(`${[...HEAD, ...rows.flatMap(linesOf)].join("\n")}\n`);
}

interface Row {
  readonly shape: Shape;
  readonly contestant: Contestant;
  readonly results: readonly Result[];
}

const TITLES = [
  "workload", "", "operator", "s to Ready: p50", "p99", "last", "nodes", "$/h", "CPU s", "peak RSS MiB", "API calls",
];
const HEAD = [cells(TITLES), cells(TITLES.map(() => "---"))];

function linesOf({ shape, contestant, results }: Row): string[] {
  if (results.length === 0) return [cells([shape.name, "", contestant.name, "failed"])];
  const median = (of: (result: Result) => number): number => {
    const sorted = results.map(of).sort((a, b) => a - b);
    return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  };
  const line = (way: string, phase: (result: Result) => Phase, rss: string): string =>
    cells([
      shape.name,
      way,
      contestant.name,
      way === "up" ? median((one) => phase(one).p50).toFixed(1) : "",
      way === "up" ? median((one) => phase(one).p99).toFixed(1) : "",
      median((one) => phase(one).last).toFixed(1),
      String(median((one) => phase(one).nodes)),
      median((one) => phase(one).dollarsPerHour).toFixed(2),
      median((one) => phase(one).cpuSeconds).toFixed(1),
      rss,
      callsText(results.map((one) => phase(one).calls)),
    ]);
  return [
    line("up", ({ up }) => up, ""),
    line("down", ({ down }) => down, median((one) => one.peakRssMib).toFixed(0)),
  ];
}

/** Of the first run: verbs by how often. */
function callsText([calls = {}]: readonly Readonly<Record<string, number>>[]): string {
  return Object.entries(calls)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([verb, count]) => `${verb} ${count}`)
    .join(", ");
}

function cells(texts: readonly string[]): string {
  return `| ${texts.join(" | ")} |`;
}
