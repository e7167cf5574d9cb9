/** The last step of every update: into the store, or out of it when what held the object is gone. */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";

/** Stores an update; an object whose last finalizer went while it was being deleted goes too. */
export function storeUpdate(call: Call, object: KubeObject): KubeObject {
  const { engine, definition } = call;
  const { metadata } = object;
  const isGone =
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    !hasSpecFinalizers(object);
  if (!isGone) return engine.store.put(definition.storageKey, object);
  const last = engine.store.remove(
    definition.storageKey,
    metadata.namespace,
    metadata.name,
    object,
  );
  // The one who let it go sees the version that was stored last.
  const { resourceVersion = "" } = object.metadata;
  return { ...(last ?? object), metadata: { ...(last ?? object).metadata, resourceVersion } };
}

/** A Namespace also waits for the finalizers of its spec. */
export function hasSpecFinalizers(object: KubeObject): boolean {
  const { spec } = object as { spec?: { finalizers?: readonly unknown[] } };
  return object.kind === "Namespace" && (spec?.finalizers ?? []).length > 0;
}

/** The object with these entries; without any, the field is left out. */
export function withManagedFields(
  object: KubeObject,
  managedFields: readonly unknown[],
): KubeObject {
  const { managedFields: _old, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: managedFields.length === 0 ? metadata : { ...metadata, managedFields },
  };
}
