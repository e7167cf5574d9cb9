/**
 * What turns one JSON value into another, as a JSON patch (RFC 6902). Only what differs is in it, so nothing else of an
 * object is told. A member of a list is changed in place where the lists are equally long, behind a test of its name.
 */
import { canonicalJson, isObject } from "./json.ts";

/** One step of a JSON patch. */
export interface PatchStep {
  readonly op: "add" | "replace" | "remove" | "test";
  readonly path: string;
  readonly value?: unknown;
}

/** In the order of the keys of the values. Keys whose value is undefined are not there. */
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
  // The list may have another order by the time somebody applies the patch.
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
