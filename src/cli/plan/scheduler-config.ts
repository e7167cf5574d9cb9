/** The file of `--scheduler-config`, as the controller takes it: default topology spread. */
import { parse } from "yaml";
import type { TopologySpreadConstraint } from "../../apis/core/pod.ts";
import {
  defaultConstraints,
  defaultSpreadProblems,
} from "../../core/provisioning/default-spread.ts";
import { CliError } from "../cli-error.ts";

/** Throws CliError that names file and field. */
export function parseSchedulerConfig(
  path: string,
  text: string,
): readonly TopologySpreadConstraint[] {
  let config: unknown;
  try {
    config = parse(text);
  } catch (error) {
    throw new CliError(`${path}: ${(error as Error).message.split("\n")[0]}`);
  }
  const [problem] = defaultSpreadProblems(config);
  if (problem !== undefined) throw new CliError(`${path}: ${problem}`);
  return defaultConstraints(config);
}
