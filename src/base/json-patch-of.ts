/**
 * Computes a JSON patch (RFC 6902) from two JSON values. It contains only differences, so it reveals nothing else of
 * the object. If two lists have equal lengths, their items are changed in place, after a test of the item's name.
 */
import { canonicalJson, isObject } from "./json.ts";

/** One step of a JSON patch. */
export interface PatchStep {
  readonly op: "add" | "replace" | "remove" | "test";
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The steps that turn `before` into `after`, in the order of the keys. A key whose value is undefined counts as absent.
 */
export function jsonPatchOf(before: unknown, after: unknown): readonly PatchStep[] {
  return steps("", before, after);
}

function steps(path: string, before: unknown, after: unknown): readonly PatchStep[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((one, index) => memberSteps(`${path}/${index}`, one, after[index]));
  if (!isObject(before) || !isObject(after) || Array.isArray(before) || Array.isArray(after))
    return [{ op: "replace", path, value: after }];
  const removed = keysOf(before)
    .filter((key) => after[key] === undefined)
    .map((key): PatchStep => ({ op: "remove", path: `${path}/${escaped(key)}` }));
  const others = keysOf(after).flatMap((key): readonly PatchStep[] => {
    const below = `${path}/${escaped(key)}`;
    if (before[key] === undefined) return [{ op: "add", path: below, value: after[key] }];
    return steps(below, before[key], after[key]);
  });
  return [...removed, ...others];
}

function memberSteps(path: string, before: unknown, after: unknown): readonly PatchStep[] {
  const changed = steps(path, before, after);
  if (changed.length === 0 || !isObject(before) || !isObject(after)) return changed;
  // The test makes the patch fail if the order of the list changed before it is applied.
  const name = ["name", "key", "topologyKey"].find((one) => typeof before[one] === "string");
  if (name === undefined) return changed;
  return [{ op: "test", path: `${path}/${name}`, value: before[name] }, ...changed];
}

function keysOf(value: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
