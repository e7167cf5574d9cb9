/**
 * How a controller changes an object that it has read. It sends only the differences, locks if a list changes, and
 * accepts that the object is gone.
 */

import type { KubeObject } from "../../apis/meta.ts";
import { createMergePatch, isObject } from "../../base/json.ts";
import { isNotFound } from "../errors.ts";
import type { PatchObject } from "./client.ts";

/** Implements {@link PatchObject}. Rejects with a conflict if a list changed and the object was outdated. */
export const patchObject: PatchObject = async (client, kind, before, after) => {
  const ref = { name: before.metadata.name, namespace: before.metadata.namespace };
  const { status: statusBefore, ...mainBefore } = before as KubeObject & { status?: unknown };
  const { status: statusAfter, ...mainAfter } = after as KubeObject & { status?: unknown };
  const main = createMergePatch(mainBefore, withMapsOf(mainBefore, mainAfter));
  const status = createMergePatch({ status: statusBefore ?? {} }, { status: statusAfter ?? {} });
  // The second patch carries the version from the answer to the first one. If it replaces a list of the status, the
  // first patch must carry the old version. Otherwise a change to the status before the first patch would be
  // overwritten unnoticed.
  const statusHoldsList = holdsList(status);
  let latest = before;
  try {
    if (main !== undefined) {
      const body = statusHoldsList || holdsList(main) ? lock(main, before) : main;
      latest = await client.patch(kind, ref, { type: "merge", body });
    }
    if (status !== undefined) {
      const body = statusHoldsList ? lock(status, latest) : status;
      latest = await client.patch(kind, ref, { type: "merge", body }, "status");
    }
    return latest;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/**
 * `after`, with empty annotations or labels instead of none if `before` has some. A patch that removes the whole field
 * would also remove what others added after the object was read.
 */
function withMapsOf<T extends Pick<KubeObject, "metadata">>(before: T, after: T): T {
  const metadata = { ...after.metadata };
  if (before.metadata.annotations !== undefined) metadata.annotations ??= {};
  if (before.metadata.labels !== undefined) metadata.labels ??= {};
  return { ...after, metadata };
}

function lock(patch: unknown, object: KubeObject): unknown {
  const version = object.metadata.resourceVersion;
  if (!isObject(patch) || version === undefined) return patch;
  const metadata = isObject(patch["metadata"]) ? patch["metadata"] : {};
  return { ...patch, metadata: { ...metadata, resourceVersion: version } };
}

/**
 * Whether the value contains a list. A merge patch replaces whole lists, so a list from an old read would undo the
 * changes of others.
 */
function holdsList(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  return isObject(value) && Object.values(value).some(holdsList);
}
