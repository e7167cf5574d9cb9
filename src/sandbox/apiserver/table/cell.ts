/** Pieces of text that many table rows share, in kubectl's spelling. */
import type { Raw } from "../registry/kind-rules.ts";

/** Makes the cells of a row from an object and the present time. */
export type Cells = (object: Raw, nowMs: number) => readonly unknown[];

export const NONE = "<none>";

/** Labels as `a=b,c=d`, sorted by key; `<none>` if there are none. */
export function formatLabels(labels: Readonly<Record<string, string>> | undefined): string {
  const keys = Object.keys(labels ?? {}).sort();
  return keys.length === 0 ? NONE : keys.map((key) => `${key}=${labels?.[key]}`).join(",");
}

/** A LabelSelector as `app=web,tier in (a,b)`; `<none>` when empty or missing. */
export function formatSelector(selector: Raw): string {
  if (selector === undefined || selector === null) return NONE;
  const parts = Object.keys(selector.matchLabels ?? {})
    .sort()
    .map((key) => `${key}=${selector.matchLabels[key]}`);
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const list = `(${[...values].sort().join(",")})`;
    if (operator === "In") parts.push(`${key} in ${list}`);
    else if (operator === "NotIn") parts.push(`${key} notin ${list}`);
    else parts.push(operator === "Exists" ? key : `!${key}`);
  }
  return parts.length === 0 ? NONE : parts.join(",");
}

/** Names and images of a template's containers, each joined by commas. */
export function containerCells(spec: Raw): readonly [string, string] {
  const containers: Raw[] = spec?.containers ?? [];
  return [
    containers.map(({ name }) => name).join(","),
    containers.map(({ image }) => image).join(","),
  ];
}

/** Short names of access modes, such as `RWO,ROX`. */
export function accessModes(modes: readonly string[] | undefined): string {
  const short: Record<string, string> = {
    ReadWriteOnce: "RWO",
    ReadOnlyMany: "ROX",
    ReadWriteMany: "RWX",
    ReadWriteOncePod: "RWOP",
  };
  return (modes ?? []).map((mode) => short[mode] ?? mode).join(",");
}

/** At most `limit` items, and the number of the others. */
export function someOf(items: readonly string[], limit: number): string {
  if (items.length === 0) return NONE;
  const shown = items.slice(0, limit).join(",");
  return items.length > limit ? `${shown} + ${items.length - limit} more...` : shown;
}
