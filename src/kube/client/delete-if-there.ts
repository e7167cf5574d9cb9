/** Deletes an object. It is no error if the object is gone already. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isNotFound } from "../errors.ts";
import type { DeleteOptions, KubeClient } from "./client.ts";

/** Deletes the object and returns whether it existed. Rejects as the client does, except for NotFound. */
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
