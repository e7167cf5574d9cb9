/** Reads the file of `--scheduler-config`, as the controller does: default topology spread. */
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import {
  schedulerConfig,
  schedulerConfigProblem,
} from "../../operator/settings/scheduler-config.ts";
import { CliError } from "../program/cli-error.ts";

/** Parses the text of the file. Throws CliError that names file and field. */
export function parseSchedulerConfig(
  path: string,
  text: string,
): readonly TopologySpreadConstraint[] {
  const problem = schedulerConfigProblem(text);
  if (problem !== undefined) throw new CliError(`${path}: ${problem}`);
  return schedulerConfig(text);
}
