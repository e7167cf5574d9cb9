/** The last step of every update: stores the object, or removes it if nothing delays its deletion any more. */
import type { KubeObject } from "../../../apis/meta.ts";
import type { Call } from "../engine.ts";

/**
 * Stores an update. Removes the object instead if it is being deleted and this update removed its last
 * finalizer.
 */
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
  // The client sees the resourceVersion that was stored last.
  const { resourceVersion = "" } = object.metadata;
  return { ...(last ?? object), metadata: { ...(last ?? object).metadata, resourceVersion } };
}

/** Whether the spec of a Namespace has finalizers. They delay its deletion too. */
export function hasSpecFinalizers(object: KubeObject): boolean {
  const { spec } = object as { spec?: { finalizers?: readonly unknown[] } };
  return object.kind === "Namespace" && (spec?.finalizers ?? []).length > 0;
}

/** The object with these managedFields. Without entries, the field is left out. */
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
