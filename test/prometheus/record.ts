/**
 * Metrics of a story on virtual time, recorded as Prometheus would scrape them. promtool gets them as a rule test.
 * So Prometheus' own engine evaluates the rules, and hours of a story take seconds.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { TestWorld } from "../world.ts";

/** Time between two scrapes. */
export const SCRAPE_MS = 30_000;

export interface StoryRecording {
  /** Lets time pass, with a scrape each SCRAPE_MS. */
  play(ms: number): Promise<void>;
  /** Lets time pass while every scrape fails, as when the process does not answer. */
  playUnseen(ms: number): Promise<void>;
  /** Values of each series, one for each scrape; undefined if the scrape lacked the series. */
  readonly series: ReadonlyMap<string, readonly (number | undefined)[]>;
  readonly scrapes: () => number;
}

/** Keeps the series whose name is one of `names`. */
export function record(world: TestWorld, names: ReadonlySet<string>): StoryRecording {
  const series = new Map<string, (number | undefined)[]>();
  let count = 0;
  async function scrape(): Promise<void> {
    const text = await world.box.operator.metrics.render();
    for (const line of text.split("\n")) {
      const name = /^[a-z_]+/.exec(line)?.[0];
      if (name === undefined || !names.has(name)) continue;
      const end = line.lastIndexOf(" ");
      const values = series.get(line.slice(0, end)) ?? [];
      values[count] = Number(line.slice(end + 1).replace("Inf", "Infinity"));
      series.set(line.slice(0, end), values);
    }
    count++;
  }
  return {
    play: async (ms) => {
      for (let passed = 0; passed < ms; passed += SCRAPE_MS) {
        await world.advance(SCRAPE_MS);
        await scrape();
      }
    },
    playUnseen: async (ms) => {
      await world.advance(ms);
      count += Math.ceil(ms / SCRAPE_MS);
    },
    series,
    scrapes: () => count,
  };
}

/**
 * The values in promtool's notation. When a series ends, Prometheus marks it `stale`; before it begins, the value
 * is `_`.
 */
function valuesText(values: readonly (number | undefined)[], scrapes: number): string {
  const words: string[] = [];
  for (let index = 0; index < scrapes; index++) {
    const value = values[index];
    const hadOne = index > 0 && values[index - 1] !== undefined;
    words.push(value === undefined ? (hadOne ? "stale" : "_") : String(value));
  }
  return words.join(" ");
}

export interface Played {
  readonly series: ReadonlyMap<string, readonly (number | undefined)[]>;
  readonly scrapes: number;
}

/** promtool's complaint unless exactly `alerts` fire at some moment of the story; empty if they do. */
export function alertFaults(
  { promtool, rules }: { readonly promtool: string; readonly rules: string },
  { series, scrapes }: Played,
  alerts: readonly string[],
): string {
  const folder = mkdtempSync(join(tmpdir(), "karpenter-rules-"));
  const interval = `${SCRAPE_MS / 1_000}s`;
  const lastSeconds = (scrapes - 1) * (SCRAPE_MS / 1_000);
  const fired = `count by (alertname) (max_over_time(ALERTS{alertstate="firing"}[${lastSeconds + 60}s])) > bool 0`;
  const file = {
    rule_files: [rules],
    evaluation_interval: interval,
    tests: [
      {
        interval,
        input_series: [...series].map(([name, values]) => ({
          series: name,
          values: valuesText(values, scrapes),
        })),
        promql_expr_test: [
          {
            expr: fired,
            eval_time: `${lastSeconds}s`,
            exp_samples: alerts.map((name) => ({
              labels: `{alertname="Karpenter${name}"}`,
              value: 1,
            })),
          },
        ],
      },
    ],
  };
  try {
    const path = join(folder, "test.yaml");
    writeFileSync(path, stringify(file, { lineWidth: 0 }));
    const { status, stdout, stderr } = spawnSync(promtool, ["test", "rules", path], {
      encoding: "utf8",
    });
    return status === 0 ? "" : `${stdout}${stderr}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
