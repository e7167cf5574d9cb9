/** Reads a story and the manifests that it names. */
import { readFileSync } from "node:fs";
import type { KubeObject } from "../../apis/meta.ts";
import { parseScenario, type Scenario, ScenarioError } from "../../sandbox/scenario/scenario.ts";
import { objectsOf } from "../plan/documents.ts";
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

/**
 * The objects of a file that a story names, those of Lists too. `${CLUSTER_NAME}` is filled in, as the tutorials do
 * with envsubst. Throws CliError for an object that cannot be applied, because it has no name.
 */
export function loadManifests(file: string, clusterName: string): KubeObject[] {
  const text = readText(file, "manifest");
  const filled = text.replaceAll(/\$\{CLUSTER_NAME\}|\$CLUSTER_NAME\b/g, clusterName);
  return objectsOf(file, filled).map(({ where, object }) => {
    const { name = "" } = object.metadata as { readonly name?: string };
    if (name !== "") return object;
    throw new CliError(`${where}: ${object.kind}: metadata.name: missing; a story applies by name`);
  });
}

function readText(file: string, what: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`cannot read the ${what} ${file}: ${fileProblem(error)}; check the path`);
  }
}
