/** Reads a story and the manifests that it names. */
import { readFileSync } from "node:fs";
import type { KubeObject } from "../../apis/meta.ts";
import { parseScenario, type Scenario, ScenarioError } from "../../sandbox/scenario/scenario.ts";
import { CliError } from "../program/cli-error.ts";
import { fileProblem } from "../program/file-problem.ts";
import { valuesOf } from "../program/manifest-text.ts";

/** The story in a file. Throws CliError, which says what is wrong in it. */
export function readScenario(file: string): Scenario {
  const [story] = valuesOf(file, readText(file, "scenario"));
  try {
    return parseScenario(story, file);
  } catch (error) {
    if (error instanceof ScenarioError) throw new CliError(error.message);
    throw error;
  }
}

/** The objects of a file that a story names. `${CLUSTER_NAME}` is filled in, as the tutorials do with envsubst. */
export function loadManifests(file: string, clusterName: string): KubeObject[] {
  const text = readText(file, "manifest");
  const filled = text.replaceAll(/\$\{CLUSTER_NAME\}|\$CLUSTER_NAME\b/g, clusterName);
  return valuesOf(file, filled) as KubeObject[];
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`cannot read the ${what} ${file}: ${fileProblem(error)}; check the path`);
  }
}
