/**
 * The fields with which the hub form of a pool or class begins: which object it is, and which state of it was
 * read.
 */
import type { KubeObject } from "../meta.ts";

/** `noun` distinguishes kinds of different generations with the same name: `nodepool`, `provisioner`. */
export function identityOf({ metadata }: KubeObject, noun: string) {
  return {
    id: `${noun}/${metadata.name}`,
    name: metadata.name,
    uid: metadata.uid ?? "",
    observedGeneration: metadata.generation ?? 0,
    deleting: metadata.deletionTimestamp !== undefined,
  };
}
