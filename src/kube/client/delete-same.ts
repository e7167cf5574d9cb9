/** Deletes exactly the object that was read, not another object of the same name. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isConflict, isNotFound } from "../errors.ts";
import type { KubeClient } from "./client.ts";

/**
 * Deletes the object by its UID, which it must have. Returns whether this call began the deletion. False: the object is
 * gone or another object has its name. Rejects for other errors.
 */
export async function deleteSame<T extends KubeObject>(
  client: Pick<KubeClient, "delete">,
  kind: Kind<T>,
  { metadata: { name, namespace, uid } }: KubeObject,
): Promise<boolean> {
  if (uid === undefined) throw new Error(`deleting ${kind.kind} ${name}: its UID is not known`);
  try {
    await client.delete(kind, { name, namespace }, { preconditions: { uid } });
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}
