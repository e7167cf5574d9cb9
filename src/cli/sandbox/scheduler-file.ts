/** Reads the file of `--kube-scheduler-config`. */
import { readFileSync } from "node:fs";
import {
  DEFAULT_PROFILES,
  type SchedulerProfile,
  schedulerConfigurationProblems,
  schedulerProfiles,
} from "../../sandbox/kube-scheduler/profiles.ts";
import { CliError } from "../program/cli-error.ts";
import { fileProblem } from "../program/file-problem.ts";
import { valuesOf } from "../program/manifest-text.ts";

/** The profiles in the file; the default profile without a file. Throws CliError that names file and field. */
export function readSchedulerProfiles(path: string | undefined): readonly SchedulerProfile[] {
  return path === undefined ? DEFAULT_PROFILES : profilesIn(path, textOf(path));
}

/** The profiles in the text of a file. Exported for tests. */
export function profilesIn(path: string, text: string): readonly SchedulerProfile[] {
  const [config, ...more] = valuesOf(path, text);
  if (more.length > 0) throw new CliError(`${path}: it has more than one document`);
  const problem = schedulerConfigurationProblems(config)[0];
  if (problem !== undefined) throw new CliError(`${path}: ${problem}`);
  return schedulerProfiles(config as object);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CliError(
      `--kube-scheduler-config: cannot read ${path}: ${fileProblem(error)}; check the path`,
    );
  }
}
