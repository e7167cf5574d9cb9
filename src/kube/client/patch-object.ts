/**
 * How a controller changes an object that it has read. It sends only the differences, locks if a list changes, and
 * accepts that the object is gone.
 */

import type { Kind, KubeObject } from "../../apis/meta.ts";
import { canonicalJson, createMergePatch, isObject } from "../../base/json.ts";
import { isNotFound } from "../errors.ts";
import type { PatchObject } from "./client.ts";

/** The API server answered a change of an object as if it were done, and did not store it. */
class NotStoredError extends Error {
  constructor({ kind }: Kind, name: string) {
    super(
      `the API server answered a change of ${kind} ${name} and did not store it; is its CustomResourceDefinition older than this version, or does a webhook undo the change?`,
    );
    this.name = "NotStoredError";
  }
}

/**
 * Implements {@link PatchObject}. Rejects with a conflict if a list changed and the object was outdated, and with
 * `NotStoredError` if the answer has the version from before and not the change. No event would follow then, so nobody
 * would write again.
 */
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
      latest = stored(kind, latest, main, await client.patch(kind, ref, { type: "merge", body }));
    }
    if (status !== undefined) {
      const body = statusHoldsList ? lock(status, latest) : status;
      const answer = await client.patch(kind, ref, { type: "merge", body }, "status");
      latest = stored(kind, latest, status, answer);
    }
    return latest;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/**
 * The answer to a patch of `before`. Throws if it shows that nothing was stored: each stored change has a new version.
 */
function stored<T extends KubeObject>(kind: Kind<T>, before: T, patch: unknown, answer: T): T {
  const { resourceVersion, name } = before.metadata;
  if (resourceVersion === undefined || answer.metadata?.resourceVersion !== resourceVersion)
    return answer;
  if (!contains(answer, patch)) throw new NotStoredError(kind as Kind, name);
  return answer;
}

/** Whether the value is as the merge patch makes it. */
function contains(value: unknown, patch: unknown): boolean {
  if (patch === null) return value === undefined || value === null;
  if (!isObject(patch)) return canonicalJson(value) === canonicalJson(patch);
  const fields = isObject(value) ? value : {};
  return Object.entries(patch).every(([key, wanted]) => contains(fields[key], wanted));
}

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
