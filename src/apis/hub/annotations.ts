/** Reads annotations that contain JSON, and changes several annotations in one step. */
import { parseBoundedJson } from "../../base/bounded-json.ts";
import { isObject } from "../../base/json.ts";
import type { KubeObject } from "../meta.ts";

/** Sets each annotation, or removes it if its value is undefined. If no annotation is left, the field is removed. */
export function annotated<T extends KubeObject>(
  object: T,
  changes: Readonly<Record<string, string | undefined>>,
): T {
  const annotations: Record<string, string> = { ...object.metadata.annotations };
  for (const key of Object.keys(changes)) {
    const value = changes[key];
    if (value === undefined) delete annotations[key];
    else annotations[key] = value;
  }
  const { annotations: _, ...metadata } = object.metadata;
  const some = Object.keys(annotations).length > 0;
  return { ...object, metadata: some ? { ...metadata, annotations } : metadata };
}

/** The JSON object in an annotation. It is `{}` if the annotation is absent or invalid. */
export function parseObject(object: KubeObject, key: string): Record<string, unknown> {
  const text = object.metadata.annotations?.[key];
  if (text === undefined) return {};
  try {
    const value: unknown = parseBoundedJson(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
