/** The setting SCHEDULER_CONFIG: the topology spread of pods that have none, as YAML or JSON. */
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import {
  defaultConstraints,
  defaultSpreadProblems,
} from "../../core/provisioning/batch/default-spread.ts";
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
