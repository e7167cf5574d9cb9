/** SCHEDULER_CONFIG: what pods get that ask for no topology spread. YAML or JSON. */
import { parse } from "yaml";
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import { firstLineOf } from "../../base/error-text.ts";
import {
  defaultConstraints,
  defaultSpreadProblems,
} from "../../core/provisioning/batch/default-spread.ts";

/** What is wrong with the text, by field; undefined: nothing. */
export function schedulerConfigProblem(text: string): string | undefined {
  try {
    return text.trim() === "" ? undefined : defaultSpreadProblems(parse(text))[0];
  } catch (error) {
    return firstLineOf(error);
  }
}

/** Of a text without problems. */
export function schedulerConfig(text: string): readonly TopologySpreadConstraint[] {
  return text.trim() === "" ? [] : defaultConstraints(parse(text));
}
