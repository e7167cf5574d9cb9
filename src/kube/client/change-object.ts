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
export async function changeObject<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
  change: (latest: T) => T,
): Promise<T | undefined> {
  const { name, namespace, uid } = object.metadata;
  let latest = object;
  for (let attempt = 1; ; attempt++) {
    try {
      return await patchObject(client, kind, latest, change(latest));
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
    try {
      latest = await client.get(kind, { name, namespace });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    if (uid !== undefined && latest.metadata.uid !== uid) return undefined;
  }
}
