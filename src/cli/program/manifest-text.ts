/** Texts of files that hold Kubernetes objects, and answers for programs. */

import { type Printed, printedDocument, printedJson } from "../../base/printable.ts";
import { notJson, readJsonTexts } from "../../readers/json.ts";
import { LIMITS } from "../../readers/limits.ts";
import { ReadError } from "../../readers/read-error.ts";
import { writeYaml } from "../../readers/write-yaml.ts";
import { readYaml } from "../../readers/yaml.ts";
import { CliError } from "./cli-error.ts";

/**
 * The values of a text: JSON, several JSON texts, or the documents of YAML. Of keys given twice the last counts.
 * `source` is for complaints. Throws CliError.
 */
export function valuesOf(source: string, text: string): unknown[] {
  return expected(() => {
    const limits = LIMITS.jsonFiles;
    const first = text.trimStart()[0];
    const isJson = first === "{" || first === "[";
    // A file of thousands of pods is read in no time when it is plain JSON; YAML in flow style begins alike.
    const values = isJson ? readJsonTexts(text, { source, limits }) : undefined;
    if (values !== undefined) return values;
    try {
      return readYaml(text, { source, limits: LIMITS.manifests });
    } catch (error) {
      throw isMeantAsJson(source, text) ? (notJson(text, { source, limits }) ?? error) : error;
    }
  });
}

/** By the file's name, or by a quoted key in the first bracket. What YAML can read counts as YAML all the same. */
function isMeantAsJson(source: string, text: string): boolean {
  return source.endsWith(".json") || /^\s*\[?\s*\{\s*"/.test(text);
}

/** What `read` returns. Throws CliError for what a reader refuses. */
export function expected<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReadError) throw new CliError(error.message);
    throw error;
  }
}

/** An answer for programs. A repeated value is written again, because not every YAML reader knows anchors. */
export function printed(answer: unknown, format: "json" | "yaml"): Printed {
  return format === "json"
    ? printedJson(JSON.stringify(answer, null, 2))
    : printedDocument(writeYaml(answer, { aliases: "none" }));
}
