/**
 * A small change of an object that others write too: a kubelet its node's status, a person a pool. Made anew on the
 * newest object where the race was lost, so that a stale read alone makes nothing fail.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isConflict, isNotFound } from "../errors.ts";
import type { KubeClient } from "./client.ts";
import { patchObject } from "./patch-object.ts";

const ATTEMPTS = 3;

/** Resolves `undefined` when the object is gone, another of its name counts as gone; rejects after the third lost race. */
export function changeObject<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
  change: (latest: T) => T,
): Promise<T | undefined> {
  return changeNewest(
    object,
    (latest) => patchObject(client, kind, latest, change(latest)),
    ({ metadata: { name, namespace } }) => client.get(kind, { name, namespace }),
  );
}

/** The same where an object is read and written in another shape than the API has it. */
export async function changeNewest<T extends KubeObject>(
  object: T,
  write: (latest: T) => Promise<T | undefined>,
  read: (object: T) => Promise<T>,
): Promise<T | undefined> {
  const { uid } = object.metadata;
  let latest = object;
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(latest);
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
    try {
      latest = await read(object);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    if (uid !== undefined && latest.metadata.uid !== uid) return undefined;
  }
}
