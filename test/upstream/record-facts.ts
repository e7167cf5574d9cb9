/**
 * `npx tsx test/upstream/record-facts.ts`: reads upstream's Go modules (core and the AWS provider), and writes the
 * names of kinds, flags, metrics and the like to test/fixtures/upstream-facts.json. docs/reference/parity.md and
 * its test compare this project with that file. Needs Go.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { crdFields, valuePaths } from "../../scripts/parity/names.ts";
import type { UpstreamFacts } from "../../scripts/parity/upstream-facts.ts";
import { coreFolder, coreVersion, moduleFolder } from "./builds.ts";

const AWS_VERSION = "v1.15.2";
const FILE = fileURLToPath(new URL("../fixtures/upstream-facts.json", import.meta.url));

/** SDK packages whose IAM prefix differs from the package name. */
const SERVICES: Readonly<Record<string, string>> = {
  arczonalshift: "arc-zonal-shift",
  timestreamwrite: "timestream",
};

/**
 * The labels of nodes' gauges: upstream makes them from its list of well-known label keys. The AWS provider adds more
 * when it starts. pkg/controllers/metrics/node/controller.go, pkg/apis/v1/labels.go
 */
const OF_NODES = [
  ...[
    "nodepool",
    "zone",
    "region",
    "instance_type",
    "arch",
    "os",
    "capacity_type",
    "windows_build",
  ],
  ...["node_name", "phase", "managed"],
];
/** The labels that functions of upstream return, by the text of the call. */
const MADE_LABELS: Readonly<Record<string, readonly string[]>> = {
  "nodeLabelNames()": OF_NODES,
  "nodeLabelNamesWithResourceType()": [...OF_NODES, "resource_type"],
};

const core = coreFolder();
const aws = moduleFolder(`github.com/aws/karpenter-provider-aws@${AWS_VERSION}`);
const sources = [join(core, "pkg"), join(aws, "pkg")].map(goSource);
const source = sources.join("\n");
const facts: UpstreamFacts = {
  core: coreVersion(),
  aws: AWS_VERSION,
  fields: fields(),
  flags: found(/\.\w*Var(?:WithEnv)?\(&o\.[\w.]+, "([a-z0-9-]+)",/g),
  gates: gates(),
  metrics: metrics().map(({ name }) => name),
  metricLabels: sorted(
    metrics().flatMap(({ name, labels }) => labels.map((label) => `${name}{${label}}`)),
  ),
  events: events(),
  keys: keys(),
  chartValues: valuePaths(
    parse(readFileSync(join(aws, "charts", "karpenter", "values.yaml"), "utf8")),
  ),
  iamActions: iamActions(),
};
writeFileSync(FILE, `${JSON.stringify(facts, undefined, 1)}\n`);

function goSource(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".go") && !/_test\.go$|(?:^|\/)(?:test|fake)\//.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("\n");
}

function found(pattern: RegExp): readonly string[] {
  return sorted([...source.matchAll(pattern)].map(([, name = ""]) => name));
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

function fields(): Readonly<Record<string, readonly string[]>> {
  const folders = [
    join(core, "pkg", "apis", "crds"),
    join(core, "kwok", "apis", "crds"),
    join(aws, "pkg", "apis", "crds"),
  ];
  const all = new Map<string, readonly string[]>();
  for (const folder of folders) {
    for (const file of readdirSync(folder).sort()) {
      const { kind, names } = crdFields(parse(readFileSync(join(folder, file), "utf8")));
      // The AWS provider has its own copies of core's CRDs, with further validation rules. Their fields are joined.
      all.set(kind, sorted([...(all.get(kind) ?? []), ...names]));
    }
  }
  return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Feature gates of core's table, and of the default of the AWS provider's flag. */
function gates(): readonly string[] {
  const own = [...source.matchAll(/FeatureGate\{\s*Name:\s*"(\w+)"/g)].map(([, name = ""]) => name);
  const theirs = /"AWS_FEATURE_GATES", "([^"]+)"/.exec(source)?.[1] ?? "";
  return sorted([...own, ...theirs.split(",").map((one) => one.split("=")[0] ?? "")]);
}

/** Metrics with their labels. */
function metrics(): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const constants = new Map(
    [...source.matchAll(/(\w+)\s+(?:string\s+)?=\s*"([^"\n]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  const labels = new Map(
    [...source.matchAll(/(\w+)\s*=\s*opmetrics\.Label\{\s*Name:\s*([\w."]+)/g)].map(
      ([, name, value = ""]) => [name, meaningOf(value, constants)],
    ),
  );
  const options = source.matchAll(
    /Namespace:\s*[\w.]+,\s*(?:Subsystem:\s*([\w.]+|"\w+"),\s*)?Name:\s*"(\w+)"/g,
  );
  const found = new Map(
    [...options].map(({ 0: all, 1: subsystem, 2: last = "", index }) => {
      const rest = source.slice(index + all.length).split(/\bNamespace:/, 1)[0] ?? "";
      const part = subsystem === undefined ? [] : [meaningOf(subsystem, constants)];
      const call = /^[^[]*?\},\s*(\w+\(\)),/.exec(rest)?.[1];
      const list =
        call === undefined ? /\[\]opmetrics\.Label\{([^}]*)\}/.exec(rest)?.[1] : returnedBy(call);
      const names = (list ?? "").split(",").map((one) => one.trim().replace(/^.*\./, ""));
      const own = names.flatMap((one) => (one === "" ? [] : (labels.get(one) ?? one)));
      const made = call === undefined ? [] : (MADE_LABELS[call] ?? []);
      return [["karpenter", ...part, last].join("_"), [...own, ...made]] as const;
    }),
  );
  return sorted([...found.keys()]).map((name) => ({ name, labels: found.get(name) ?? [] }));
}

/** The labels that a function of upstream lists. Undefined: {@link MADE_LABELS} has them. Throws if neither is so. */
function returnedBy(call: string): string | undefined {
  const head = `func ${call} []opmetrics.Label {`;
  const body = source.split(head)[1]?.split("\n}", 1)[0];
  const list = /^\s*return \[\]opmetrics\.Label\{([^}]*)\}/.exec(body ?? "")?.[1];
  if (body === undefined || (list === undefined && MADE_LABELS[call] === undefined))
    throw new Error(`unknown labels of a metric: ${call}`);
  return list;
}

/** What an expression such as `"code"` or `metrics.ReasonLabel` stands for. */
function meaningOf(
  expression: string,
  constants: ReadonlyMap<string | undefined, string | undefined>,
): string {
  if (expression.startsWith('"')) return expression.slice(1, -1);
  const name = expression.replace(/^.*\./, "");
  return constants.get(name) ?? name;
}

/** Event reasons: core's table, and the string literals in core and the AWS provider. */
function events(): readonly string[] {
  const table = readFileSync(join(core, "pkg", "events", "reason.go"), "utf8");
  const named = [...table.matchAll(/=\s*"(\w+)"/g)].map(([, name = ""]) => name);
  return sorted([...named, ...found(/EventType\w+,\s*Reason:\s+"(\w+)"/g)]);
}

/** Labels, annotations, taints and finalizers of Karpenter's own groups. */
function keys(): readonly string[] {
  const groups = ["karpenter.sh", "karpenter.k8s.aws"];
  return sorted(
    sources.flatMap((text, at) => [
      ...[...text.matchAll(/=\s*apis\.Group \+ "(\/[a-z0-9-]+)"/g)].map(
        ([, name]) => `${groups[at]}${name}`,
      ),
      ...[...text.matchAll(/=\s*apis\.CompatibilityGroup \+ "(\/[a-z0-9-]+)"/g)].map(
        ([, name]) => `compatibility.${groups[at]}${name}`,
      ),
      ...[...text.matchAll(/=\s*"((?:topology\.k8s\.aws|karpenter\.\S*)\/[a-z0-9-]+)"/g)].map(
        ([, name = ""]) => name,
      ),
    ]),
  );
}

/** The SDK calls that the provider declares, as the IAM actions that they need. */
function iamActions(): readonly string[] {
  const text = readFileSync(join(aws, "pkg", "aws", "sdk.go"), "utf8");
  return sorted(
    [...text.matchAll(/^\t(\w+)\(context\.Context, \*(\w+)\.\w+Input/gm)].map(
      ([, call, service = ""]) => `${SERVICES[service] ?? service}:${call}`,
    ),
  );
}
