/** Deletes exactly the object that was read. Another object of the same name stays. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isConflict, isNotFound } from "../errors.ts";
import type { KubeClient } from "./client.ts";

/**
 * Returns true if this call began the deletion, false if the object is gone or another object has its name.
 * Rejects for other errors. The object must have a UID.
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
