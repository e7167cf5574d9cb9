/** Deletes an object; an object that is gone already is no error. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isNotFound } from "../errors.ts";
import type { DeleteOptions, KubeClient } from "./client.ts";

/** Whether there was something to delete. Rejects as the client does, but for NotFound. */
export async function deleteIfThere<T extends KubeObject>(
  client: Pick<KubeClient, "delete">,
  kind: Kind<T>,
  { metadata: { name, namespace } }: KubeObject,
  options?: DeleteOptions,
): Promise<boolean> {
  try {
    await client.delete(kind, { name, namespace }, options);
    return true;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return false;
  }
}
