/**
 * Changes an object that others also write, such as a Node's status or a pool. If another write came first, the change
 * is computed again for the newest object.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isConflict, isNotFound } from "../errors.ts";
import type { KubeClient } from "./client.ts";
import { patchObject } from "./patch-object.ts";

const ATTEMPTS = 3;

/**
 * Changes the object. Resolves to `undefined` if the object is gone, or if another object has its name now. Rejects
 * after three conflicts.
 */
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

/** Like {@link changeObject}, for an object in another form than the API's. `write` and `read` convert it. */
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
