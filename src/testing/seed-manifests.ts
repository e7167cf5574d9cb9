/** The manifests under test/fixtures/seeds, parsed as kubectl does. Only tests import this. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../apis/meta.ts";

/**
 * All objects of one file (`negative/s0-10-tags-restricted.yaml`), with `${CLUSTER_NAME}` filled in. Of
 * keys given twice the last one counts.
 */
// biome-ignore lint/suspicious/noExplicitAny: fixtures are of many kinds
export function seedObjects(path: string, clusterName = "karpenter-demo"): any[] {
  const file = fileURLToPath(new URL(`../../test/fixtures/seeds/${path}`, import.meta.url));
  const text = readFileSync(file, "utf8").replaceAll(/\$\{CLUSTER_NAME\}/g, clusterName);
  return parseAllDocuments(text, { uniqueKeys: false })
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}
