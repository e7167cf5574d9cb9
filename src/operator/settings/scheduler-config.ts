/** The setting SCHEDULER_CONFIG: the topology spread of pods that have none, as YAML or JSON. */
import { defaultConstraintsProblems, unknownFields } from "../../apis/core/default-spread.ts";
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
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
  const problems = unknownFields(config, ["podTopologySpread"], "");
  const spread = config["podTopologySpread"];
  if (spread === undefined) return problems;
  if (!isObject(spread)) return [...problems, "podTopologySpread: wanted an object"];
  problems.push(...unknownFields(spread, ["defaultConstraints"], "podTopologySpread."));
  const constraints = spread["defaultConstraints"] ?? [];
  return [
    ...problems,
    ...defaultConstraintsProblems(constraints, "podTopologySpread.defaultConstraints"),
  ];
}

function defaultConstraints(config: unknown): readonly TopologySpreadConstraint[] {
  const spread = (config as { podTopologySpread?: { defaultConstraints?: unknown } } | undefined)
    ?.podTopologySpread;
  return (spread?.defaultConstraints ?? []) as readonly TopologySpreadConstraint[];
}
