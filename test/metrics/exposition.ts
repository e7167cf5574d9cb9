/**
 * Reads Prometheus' text format as a scraper does, and reports format errors as `promtool check metrics` does. It
 * does not judge names, because most are upstream's.
 */

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Label names of its series, without `le` and `quantile`, sorted. */
  readonly labels: readonly string[];
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const TYPES = new Set(["counter", "gauge", "histogram", "summary", "untyped"]);
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/gy;

/** Metric families by name. Throws on a line that no scraper could read, and on a family that occurs twice. */
export function parseExposition(text: string): ReadonlyMap<string, Family> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, { help: string; type: string; series: Series[] }>();
  let current = "";
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const [, word, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (word !== undefined) {
      current = name;
      const family = families.get(name) ?? { help: "", type: "", series: [] };
      const twice = word === "HELP" ? family.help !== "" : family.type !== "";
      if (twice) throw new Error(`${name} is declared twice`);
      families.set(name, word === "HELP" ? { ...family, help: rest } : { ...family, type: rest });
      continue;
    }
    const family = families.get(current);
    if (family === undefined) throw new Error(`a line before any TYPE: ${line}`);
    family.series.push(parseLine(line));
  }
  return new Map(
    [...families].map(([name, { help, type, series }]) => {
      const labels = new Set(series.flatMap((one) => Object.keys(one.labels)));
      labels.delete("le");
      labels.delete("quantile");
      return [name, { name, help, type, series, labels: [...labels].sort() }];
    }),
  );
}

function parseLine(line: string): Series {
  const [, name, inner = "", value = ""] = LINE.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a line of the format: ${line}`);
  const labels: Record<string, string> = {};
  let read = 0;
  for (const [whole, label = "", text = ""] of inner.matchAll(LABEL)) {
    if (label in labels) throw new Error(`a label twice: ${line}`);
    labels[label] = text;
    read += whole.length;
  }
  if (read !== inner.length) throw new Error(`labels that cannot be read: ${line}`);
  return { name, labels, value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value) };
}

/** Faults of the metrics, one sentence each. */
export function lint(families: ReadonlyMap<string, Family>): readonly string[] {
  return [...families.values()].flatMap(faultsOf);
}

function faultsOf({ name, type, help, series }: Family): readonly string[] {
  const faults: string[] = [];
  if (help === "") faults.push(`${name} has no help`);
  if (!TYPES.has(type)) faults.push(`${name} has the type ${type}`);
  if (series.length === 0) faults.push(`${name} has no series`);
  const known = new Set<string>();
  const shapes = new Set<string>();
  for (const one of series) {
    const names = Object.keys(one.labels).sort();
    const key = `${one.name}{${names.map((label) => `${label}=${one.labels[label]}`)}}`;
    if (known.has(key)) faults.push(`${key} is there twice`);
    known.add(key);
    if (!belongs(one.name, name, type)) faults.push(`${one.name} stands under ${name}`);
    if (Number.isNaN(one.value) && type !== "summary") faults.push(`${key} is no number`);
    if (type === "counter" && one.value < 0) faults.push(`${key} is below zero`);
    shapes.add(names.filter((label) => label !== "le" && label !== "quantile").join());
  }
  if (shapes.size > 1)
    faults.push(`${name} has series with other labels: ${[...shapes].join(" | ")}`);
  if (type === "counter" && !name.endsWith("_total")) faults.push(`counter ${name} lacks _total`);
  return faults;
}

function belongs(series: string, family: string, type: string): boolean {
  if (series === family) return type !== "histogram";
  const suffixes = { histogram: ["_bucket", "_sum", "_count"], summary: ["_sum", "_count"] };
  const own = type === "histogram" || type === "summary" ? suffixes[type] : [];
  return own.some((suffix) => series === family + suffix);
}
