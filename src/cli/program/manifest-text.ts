/** Reads texts with Kubernetes objects, and prints answers as JSON or YAML. */

import { type Printed, printedDocument, printedJson } from "../../base/printable.ts";
import { notJson, readJsonTexts } from "../../readers/json.ts";
import { LIMITS } from "../../readers/limits.ts";
import { ReadError } from "../../readers/read-error.ts";
import { writeYaml } from "../../readers/write-yaml.ts";
import { readYaml } from "../../readers/yaml.ts";
import { CliError } from "./cli-error.ts";

/**
 * The values of a text: JSON, several JSON texts, or YAML documents. If a key is given twice, the last one counts.
 * `source` is for error messages. Throws CliError.
 */
export function valuesOf(source: string, text: string): unknown[] {
  return expected(() => {
    const limits = LIMITS.jsonFiles;
    const first = text.trimStart()[0];
    const isJson = first === "{" || first === "[";
    // JSON is much faster to parse than YAML. YAML in flow style looks similar, so YAML is tried if JSON fails.
    const values = isJson ? readJsonTexts(text, { source, limits }) : undefined;
    if (values !== undefined) return values;
    try {
      return readYaml(text, { source, limits: LIMITS.manifests });
    } catch (error) {
      throw isMeantAsJson(source, text) ? (notJson(text, { source, limits }) ?? error) : error;
    }
  });
}

/** Whether the text is meant as JSON, by the file's name or by a quoted key after the first bracket. */
function isMeantAsJson(source: string, text: string): boolean {
  return source.endsWith(".json") || /^\s*\[?\s*\{\s*"/.test(text);
}

/** Returns the result of `read`. Throws CliError for a ReadError. */
export function expected<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ReadError) throw new CliError(error.message);
    throw error;
  }
}

/** An answer as JSON or YAML. Repeated values are written out, because not every YAML reader supports anchors. */
export function printed(answer: unknown, format: "json" | "yaml"): Printed {
  return format === "json"
    ? printedJson(JSON.stringify(answer, null, 2))
    : printedDocument(writeYaml(answer));
}
