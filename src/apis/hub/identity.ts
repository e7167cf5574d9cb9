/**
 * The fields with which the common form of a pool or class begins: which object it is, and which version of it was
 * read.
 */
import type { KubeObject } from "../meta.ts";

/**
 * The identity of an object. `noun`: distinguishes kinds that may have objects of the same name, such as `nodepool` and
 * `provisioner`.
 */
export function identityOf({ metadata }: KubeObject, noun: string) {
  return {
    id: `${noun}/${metadata.name}`,
    name: metadata.name,
    uid: metadata.uid ?? "",
    observedGeneration: metadata.generation ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
