/**
 * Reads the chart's values.yaml with its comments: `# --` begins a description, `# @` says what the schema
 * knows beyond the default's own type (a word from WORDS, or JSON). A value without a description and
 * an annotation that cannot be read are errors, so that neither the page nor the schema goes thin.
 */
import { isMap, isScalar, parseDocument, type YAMLMap } from "yaml";

export interface ChartValue {
  /** `settings.clusterName`. */
  readonly name: string;
  readonly description: string;
  readonly default: unknown;
  /** JSON schema of the value alone. */
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
    // The first comment of a map belongs to the map, and the head of the file is nobody's.
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
