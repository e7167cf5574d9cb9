/** Reads an object from the API server. It is no error if the object does not exist. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { isNotFound } from "../errors.ts";
import type { KubeClient, ObjectRef } from "./client.ts";

/** The current object. Undefined: there is none. Rejects as the client does, except for NotFound. */
export async function getIfThere<T extends KubeObject>(
  client: Pick<KubeClient, "get">,
  kind: Kind<T>,
  ref: ObjectRef,
): Promise<T | undefined> {
  try {
    return await client.get(kind, ref);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
