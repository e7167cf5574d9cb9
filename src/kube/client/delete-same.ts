/** Deleting the very object that was looked at: another of its name stays. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isConflict, isNotFound } from "../errors.ts";
import type { KubeClient } from "./client.ts";

/**
 * Whether this call began the deletion; false: the object is gone, or another one has its name. Rejects as the client
 * does for other refusals. An object without a UID was never stored: that is a bug of the caller.
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
