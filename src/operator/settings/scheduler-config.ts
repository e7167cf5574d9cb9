/** The setting SCHEDULER_CONFIG: the topology spread of pods that have none, as YAML or JSON. */
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import { qualifiedNameProblem } from "../../apis/karpenter/label-syntax.ts";
import { isObject } from "../../base/json.ts";
import { LIMITS } from "../../readers/limits.ts";
import { ReadError } from "../../readers/read-error.ts";
import { readYamlValue } from "../../readers/yaml.ts";

/** What is wrong with the text, and in which field. Undefined: it is valid. */
export function schedulerConfigProblem(text: string): string | undefined {
  try {
    return text.trim() === "" ? undefined : defaultSpreadProblems(read(text))[0];
  } catch (error) {
    if (error instanceof ReadError) return error.problem;
    throw error;
  }
}

/** The constraints in a valid text. */
export function schedulerConfig(text: string): readonly TopologySpreadConstraint[] {
  return text.trim() === "" ? [] : defaultConstraints(read(text));
}

function read(text: string): unknown {
  return readYamlValue(text, {
    source: "SCHEDULER_CONFIG",
    limits: LIMITS.setting,
    repeatedKeys: "refused",
  });
}

/** The problems of a parsed configuration, with their field. */
function defaultSpreadProblems(config: unknown): string[] {
  if (!isObject(config)) return ["wanted an object with podTopologySpread"];
  const problems = strangers(config, ["podTopologySpread"], "");
  const spread = config["podTopologySpread"];
  if (spread === undefined) return problems;
  if (!isObject(spread)) return [...problems, "podTopologySpread: wanted an object"];
  problems.push(...strangers(spread, ["defaultConstraints"], "podTopologySpread."));
  const constraints = spread["defaultConstraints"] ?? [];
  const list = "podTopologySpread.defaultConstraints";
  if (!Array.isArray(constraints)) return [...problems, `${list}: wanted a list`];
  const seen = new Set<string>();
  constraints.forEach((one, index) => {
    const at = `${list}[${index}]`;
    problems.push(...constraintProblems(one, at));
    const { topologyKey, whenUnsatisfiable } = isObject(one) ? one : {};
    const pair = `${topologyKey} ${whenUnsatisfiable}`;
    if (seen.has(pair)) problems.push(`${at}: ${pair} is there already`);
    seen.add(pair);
  });
  return problems;
}

function defaultConstraints(config: unknown): readonly TopologySpreadConstraint[] {
  const spread = (config as { podTopologySpread?: { defaultConstraints?: unknown } } | undefined)
    ?.podTopologySpread;
  return (spread?.defaultConstraints ?? []) as readonly TopologySpreadConstraint[];
}

const FIELDS = [
  "maxSkew",
  "topologyKey",
  "whenUnsatisfiable",
  "minDomains",
  "nodeAffinityPolicy",
  "nodeTaintsPolicy",
];

function constraintProblems(value: unknown, at: string): string[] {
  if (!isObject(value)) return [`${at}: wanted an object`];
  const problems: string[] = [];
  for (const field of ["labelSelector", "matchLabelKeys"]) {
    if (value[field] !== undefined)
      problems.push(`${at}.${field}: leave it out, it is deduced from Services and controllers`);
  }
  problems.push(...strangers(value, [...FIELDS, "labelSelector", "matchLabelKeys"], `${at}.`));
  const { maxSkew, topologyKey, whenUnsatisfiable } = value;
  if (!Number.isSafeInteger(maxSkew) || (maxSkew as number) < 1)
    problems.push(`${at}.maxSkew: wanted a whole number above 0, got ${JSON.stringify(maxSkew)}`);
  if (typeof topologyKey !== "string" || qualifiedNameProblem(topologyKey) !== undefined)
    problems.push(`${at}.topologyKey: wanted a label key, got ${JSON.stringify(topologyKey)}`);
  if (whenUnsatisfiable !== "DoNotSchedule" && whenUnsatisfiable !== "ScheduleAnyway")
    problems.push(`${at}.whenUnsatisfiable: wanted DoNotSchedule or ScheduleAnyway`);
  return problems;
}

function strangers(value: object, known: readonly string[], at: string): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${at}${key}: unknown field`);
}
