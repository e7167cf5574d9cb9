/** Adds and removes a finalizer, each as one patch that fails if the list of finalizers has changed since. */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { NotStoredError } from "../errors.ts";
import type { KubeClient } from "./client.ts";
import { patchObject } from "./patch-object.ts";

/** Whether the object has the finalizer, which keeps it from being removed. */
export function hasFinalizer(object: KubeObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Resolves to the object with the finalizer, or to `undefined` if it is gone. Rejects on a conflict. */
export function addFinalizer<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<T | undefined> {
  if (hasFinalizer(object, finalizer)) return Promise.resolve(object);
  const finalizers = [...(object.metadata.finalizers ?? []), finalizer];
  return patchObject(client, kind, object, withFinalizers(object, finalizers));
}

/**
 * Resolves when the finalizer is removed or the object is gone. Rejects on a conflict, and if the API server answers
 * with the finalizer still there. Nothing else would wake the caller for an object that stays.
 */
export async function removeFinalizer<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
  finalizer: string,
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return;
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  const after = await patchObject(client, kind, object, withFinalizers(object, finalizers));
  if (after !== undefined && hasFinalizer(after, finalizer))
    throw new NotStoredError(
      `the removal of ${finalizer} from ${kind.kind} ${object.metadata.name}`,
    );
}

function withFinalizers<T extends KubeObject>(object: T, finalizers: readonly string[]): T {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
