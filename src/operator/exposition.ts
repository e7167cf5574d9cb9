/**
 * Prometheus' text form of one metric whose series are made on the spot: there may be a hundred thousand
 * lines, so each label's value is looked at once and nothing is kept.
 */
import { assert } from "../base/assert.ts";
import type { MetricSpec, Sample } from "../base/metrics.ts";

/** Empty when there is no series. Rejects labels that the metric does not have, or lacks. */
export function exposition(name: string, spec: MetricSpec, samples: Iterable<Sample>): string {
  const { labels, help, type } = spec;
  const lines: string[] = [];
  for (const sample of samples) {
    let text = "";
    for (const label of labels) {
      const value = sample.labels[label];
      assert(value !== undefined, `metric ${name}: the label ${label} is not given`);
      text += `${text === "" ? "" : ","}${label}="${escaped(value)}"`;
    }
    lines.push(`${name}${text === "" ? "" : `{${text}}`} ${number(sample.value)}\n`);
  }
  if (lines.length === 0) return "";
  return `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

const SPECIAL = /[\\"\n]/;

function escaped(value: string): string {
  if (!SPECIAL.test(value)) return value;
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function escapedHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function number(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}
