/**
 * Writes one metric in Prometheus' text format. Its series are computed when it is read. There may be a million lines
 * with a dozen labels each. So the text of shared labels is created once, nothing else is kept, and the text is
 * returned in parts.
 */
import { assert } from "../../base/assert.ts";
import type { MetricSpec, Sample, Series } from "../../base/metrics.ts";

type Labels = Readonly<Record<string, string>>;

/** The text of labels that several samples have in common. It is kept as long as the labels object exists. */
const texts = new WeakMap<Labels, { readonly text: string; readonly count: number }>();

/** The most lines in one part. Creating them takes about a millisecond. */
const LINES_PER_PART = 256;

/**
 * The lines of a metric in parts. A part may be empty, so that other work can run. Throws if the first sample has other
 * labels than the metric, or if any sample has another number of labels.
 */
export function* exposition(name: string, spec: MetricSpec, series: Series): Iterable<string> {
  let lines = [`# HELP ${name} ${escapedHelp(spec.help)}\n# TYPE ${name} ${spec.type}\n`];
  let checked = false;
  for (const sample of series) {
    if (sample !== undefined) {
      lines.push(lineOf(name, spec.labels, sample, checked));
      checked = true;
      if (lines.length < LINES_PER_PART) continue;
    }
    // The heading is kept until there is a first line, because a metric without series has no heading.
    yield checked ? lines.join("") : "";
    if (checked) lines = [];
  }
  if (checked && lines.length > 0) yield lines.join("");
}

/** The line of one sample. `checked`: whether an earlier sample had the right labels. */
function lineOf(
  name: string,
  declared: readonly string[],
  sample: Sample,
  checked: boolean,
): string {
  const { labels, value } = sample;
  const shared = sample.shared === undefined ? undefined : sharedText(sample.shared);
  let text = shared?.text ?? "";
  let count = shared?.count ?? 0;
  for (const label in labels) {
    text += `${text === "" ? "" : ","}${label}="${escaped(labels[label] as string)}"`;
    count++;
  }
  if (count !== declared.length || !checked) checkLabels(name, declared, sample);
  return `${name}${text === "" ? "" : `{${text}}`} ${number(value)}\n`;
}

function sharedText(shared: Labels): { readonly text: string; readonly count: number } {
  let known = texts.get(shared);
  if (known === undefined) {
    const pairs = Object.entries(shared).map(([label, value]) => `${label}="${escaped(value)}"`);
    known = { text: pairs.join(","), count: pairs.length };
    texts.set(shared, known);
  }
  return known;
}

/** Checks the labels of one sample. All samples of a metric come from one function, so checking one is enough. */
function checkLabels(name: string, declared: readonly string[], sample: Sample): void {
  const given = [...Object.keys(sample.shared ?? {}), ...Object.keys(sample.labels)];
  const missing = declared.filter((label) => !given.includes(label));
  assert(missing.length === 0, `metric ${name}: the labels ${missing.join(", ")} are not given`);
  const extra = given.filter((label) => !declared.includes(label));
  assert(extra.length === 0, `metric ${name} has no labels ${extra.join(", ")}`);
  assert(given.length === declared.length, `metric ${name}: a label is given twice`);
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
