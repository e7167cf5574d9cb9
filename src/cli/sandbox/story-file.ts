/** Reads a scenario and its manifests. */
import { readFileSync } from "node:fs";
import type { KubeObject } from "../../apis/meta.ts";
import { parseScenario, type Scenario, ScenarioError } from "../../sandbox/scenario/scenario.ts";
import { objectsOf } from "../plan/documents.ts";
import { CliError } from "../program/cli-error.ts";
import { fileProblem } from "../program/file-problem.ts";
import { valuesOf } from "../program/manifest-text.ts";

/** Parses the scenario in a file. Throws CliError that says what is wrong. */
export function readScenario(file: string): Scenario {
  const [story] = valuesOf(file, readText(file, "scenario"));
  try {
    return parseScenario(story, file);
  } catch (error) {
    if (error instanceof ScenarioError) throw new CliError(error.message);
    throw error;
  }
}

/**
 * The objects in a file of a scenario, including those in Lists. `${CLUSTER_NAME}` is replaced, as the tutorials do
 * with envsubst. Throws CliError for an object without a name, because it cannot be applied.
 */
export function loadManifests(file: string, clusterName: string): KubeObject[] {
  const text = readText(file, "manifest");
  const filled = text.replaceAll(/\$\{CLUSTER_NAME\}|\$CLUSTER_NAME\b/g, clusterName);
  return objectsOf(file, filled).map(({ where, object }) => {
    const { name = "" } = object.metadata as { readonly name?: string };
    if (name !== "") return object;
    throw new CliError(`${where}: ${object.kind}: metadata.name: missing; give each object a name`);
  });
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`cannot read the ${what} ${file}: ${fileProblem(error)}; check the path`);
  }
}
