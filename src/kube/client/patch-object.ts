/**
 * The one way a controller changes an object it has read: compare, send only what differs, lock when
 * a list is touched, take "gone" for done.
 */

import type { KubeObject } from "../../apis/meta.ts";
import { createMergePatch, isObject } from "../../base/json.ts";
import { isNotFound } from "../errors.ts";
import type { PatchObject } from "./client.ts";

/** See {@link PatchObject}. Rejects with a conflict when a list changed and the object was stale. */
export const patchObject: PatchObject = async (client, kind, before, after) => {
  const ref = { name: before.metadata.name, namespace: before.metadata.namespace };
  const { status: statusBefore, ...mainBefore } = before as KubeObject & { status?: unknown };
  const { status: statusAfter, ...mainAfter } = after as KubeObject & { status?: unknown };
  let latest = before;
  try {
    const main = lock(createMergePatch(mainBefore, mainAfter), before);
    if (main !== undefined) latest = await client.patch(kind, ref, { type: "merge", body: main });
    const status = createMergePatch({ status: statusBefore ?? {} }, { status: statusAfter ?? {} });
    const body = lock(status, latest);
    if (body !== undefined)
      latest = await client.patch(kind, ref, { type: "merge", body }, "status");
    return latest;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

function lock(patch: unknown, object: KubeObject): unknown {
  const version = object.metadata.resourceVersion;
  if (!isObject(patch) || version === undefined || !holdsList(patch)) return patch;
  const metadata = isObject(patch["metadata"]) ? patch["metadata"] : {};
  return { ...patch, metadata: { ...metadata, resourceVersion: version } };
}

/** A merge patch replaces lists whole, so a list written from a stale read would undo others' work. */
function holdsList(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  return isObject(value) && Object.values(value).some(holdsList);
}
