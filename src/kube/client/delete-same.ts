/**
 * Deletes exactly the object that was read, not another object of the same name, and makes sure that the deletion has
 * begun. An API server may answer a deletion and not carry it out. Whoever waited for it would wait for ever.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isObject } from "../../base/json.ts";
import { isConflict, isNotFound } from "../errors.ts";
import type { KubeClient } from "./client.ts";
import { getIfThere } from "./get-if-there.ts";

/** The API server answered the deletion of an object, which is there and is not being deleted. */
export class NotDeletedError extends Error {
  constructor({ kind }: Kind, name: string) {
    super(`the API server answered the deletion of ${kind} ${name} and did not carry it out`);
    this.name = "NotDeletedError";
  }
}

/**
 * Deletes the object by its UID, which it must have. Returns whether this call began the deletion. False: the object is
 * gone or another object has its name. Rejects with `NotDeletedError` if the object stays as it was, so that the caller
 * tries again later, and as the client does for other errors.
 */
export async function deleteSame<T extends KubeObject>(
  client: Pick<KubeClient, "delete" | "get">,
  kind: Kind<T>,
  { metadata: { name, namespace, uid } }: KubeObject,
): Promise<boolean> {
  if (uid === undefined) throw new Error(`deleting ${kind.kind} ${name}: its UID is not known`);
  try {
    const answer = await client.delete(kind, { name, namespace }, { preconditions: { uid } });
    if (isGoing(answer, uid)) return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
  // A Status is the answer for an object without finalizers, which is gone at once.
  const left = await getIfThere(client, kind, { name, namespace });
  if (left?.metadata.uid === uid && left.metadata.deletionTimestamp === undefined)
    throw new NotDeletedError(kind as Kind, name);
  return true;
}

/** Whether the answer is the object with a deletionTimestamp. */
function isGoing(answer: unknown, uid: string): boolean {
  if (!isObject(answer) || !isObject(answer["metadata"])) return false;
  const { uid: answered, deletionTimestamp } = answer["metadata"];
  return answered === uid && deletionTimestamp !== undefined;
}
