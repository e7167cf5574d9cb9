/**
 * Reads the chart's values.yaml with its comments. `# --` begins a description. `# @` adds to the schema what the
 * default's type does not say: a word from WORDS, or JSON. A value without a description is an error, and so is an
 * unreadable annotation.
 */
import { isMap, isScalar, parseDocument, type YAMLMap } from "yaml";

export interface ChartValue {
  /** The value's name, such as `settings.clusterName`. */
  readonly name: string;
  readonly description: string;
  readonly default: unknown;
  /** The JSON schema of this value. */
  readonly schema: Readonly<Record<string, unknown>>;
}

const WORDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  strings: { type: "object", additionalProperties: { type: "string" } },
  objects: { type: "array", items: { type: "object" } },
  duration: { type: "string", pattern: "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$" },
};

export function chartValues(text: string): readonly ChartValue[] {
  const document = parseDocument(text);
  if (document.errors[0] !== undefined) throw document.errors[0];
  return valuesOf(document.contents as YAMLMap, "", true);
}

function valuesOf(map: YAMLMap, prefix: string, isTop: boolean): readonly ChartValue[] {
  return map.items.flatMap(({ key, value }, index) => {
    const own = isScalar(key) ? key : undefined;
    const name = `${prefix}${String(own?.value)}`;
    // A comment above the first key belongs to that key. At the top of the file it is the file's header and belongs
    // to no key.
    const above = own?.commentBefore ?? (index === 0 && !isTop ? map.commentBefore : undefined);
    const comment = commentOf(above ?? undefined);
    if (comment === undefined) {
      if (isMap(value) && value.items.length > 0)
        return valuesOf(value as YAMLMap, `${name}.`, false);
      throw new Error(`values.yaml: ${name} has no description; put "# -- …" above it`);
    }
    const fallback = (value as { toJSON(): unknown } | null)?.toJSON() ?? null;
    const schema = { ...typeOf(name, fallback), ...extraOf(name, comment.extra) };
    return [{ name, description: comment.text, default: fallback, schema }];
  });
}

function commentOf(
  comment: string | undefined,
): { readonly text: string; readonly extra: string | undefined } | undefined {
  const lines = (comment ?? "").split("\n").map((line) => line.trim());
  const start = lines.findLastIndex((line) => line.startsWith("-- "));
  if (start === -1) return undefined;
  const own = lines.slice(start);
  const extra = own.find((line) => line.startsWith("@ "));
  const words = own.filter((line) => line !== extra);
  return { text: words.join(" ").slice(3).trim(), extra: extra?.slice(2) };
}

function typeOf(name: string, value: unknown): Readonly<Record<string, unknown>> {
  if (value === null) return {};
  if (Array.isArray(value)) return { type: "array" };
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" };
  if (["string", "boolean", "object"].includes(typeof value)) return { type: typeof value };
  throw new Error(`values.yaml: ${name} is a ${typeof value}`);
}

function extraOf(name: string, extra: string | undefined): Readonly<Record<string, unknown>> {
  if (extra === undefined) return {};
  const word = WORDS[extra];
  if (word !== undefined) return word;
  try {
    return JSON.parse(extra);
  } catch {
    throw new Error(
      `values.yaml: ${name}: "# @ ${extra}" is neither JSON nor one of ${Object.keys(WORDS).join(", ")}`,
    );
  }
}
