/**
 * Ends namespaces and CustomResourceDefinitions that are being deleted. All objects in them are deleted, pods
 * first. When none is left, the finalizer of the namespace or definition is removed. While objects with
 * finalizers remain, it looks again once a second.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import type { Logger } from "../../../base/log.ts";
import { mustNotFail } from "../../../base/must-not-fail.ts";
import { CRD_FINALIZER, CRDS } from "../custom-resources.ts";
import type { Engine } from "../engine.ts";
import { callOn, storageDefinition } from "../request/internal-call.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { StoreEvent } from "../store/store.ts";
import { deleteObject } from "./delete.ts";
import { writeDirectly } from "./direct-write.ts";
import { withoutFinalizer } from "./garbage-collection.ts";

const REACTION_MS = 50;
const LOOK_AGAIN_MS = 1_000;
const CONTROLLER = "namespace-controller";

/** Starts to end namespaces and CRDs. Returns a function that stops this. */
export function endContainers(engine: Engine, log: Logger): () => void {
  const ending = new Set<string>();
  let isClosed = false;
  const later = (id: string, delayMs: number, pass: () => Promise<boolean>): void => {
    const look = async (): Promise<void> => {
      if (isClosed) return;
      let isDone = false;
      try {
        isDone = await pass();
      } catch (error) {
        log.warn("ending failed, retrying", { object: id, error: String(error) });
      }
      if (isDone) ending.delete(id);
      else later(id, LOOK_AGAIN_MS, pass);
    };
    engine.clock.after(delayMs, () => mustNotFail(look(), "ending a namespace or CRD"));
  };
  const watch = (storageKey: string, pass: (name: string) => Promise<boolean>): (() => void) =>
    engine.store.subscribe(storageKey, ({ type, object }: StoreEvent) => {
      const { deletionTimestamp, name } = object.metadata;
      const id = `${storageKey}/${name}`;
      if (type === "DELETED" || deletionTimestamp === undefined || ending.has(id)) return;
      ending.add(id);
      later(id, REACTION_MS, () => pass(name));
    });
  const stops = [
    watch("namespaces", (name) => endNamespace(engine, name)),
    watch(CRDS, (name) => endCustomResource(engine, name)),
  ];
  return () => {
    isClosed = true;
    for (const stop of stops) stop();
  };
}

/** One attempt to delete everything in the namespace. True: nothing is left to do. */
async function endNamespace(engine: Engine, name: string): Promise<boolean> {
  const { store } = engine;
  const namespace = store.get("namespaces", undefined, name);
  if (namespace?.metadata.deletionTimestamp === undefined) return true;
  const pods = storageDefinition(engine, "pods");
  if (pods !== undefined && (await emptied(engine, pods, name)) > 0) return false;
  const served = engine.registry
    .list()
    .filter((each) => each.namespaced && each.version === each.storageVersion);
  let left = 0;
  for (const definition of served) left += await emptied(engine, definition, name);
  if (left > 0) return false;
  const definition = storageDefinition(engine, "namespaces");
  if (definition === undefined) return true;
  const current = store.get("namespaces", undefined, name);
  if (current === undefined) return true;
  const { spec } = current as { spec?: Record<string, unknown> };
  const { finalizers = [], ...rest } = (spec ?? {}) as { finalizers?: readonly string[] };
  const others = finalizers.filter((finalizer) => finalizer !== "kubernetes");
  const next = { ...current, spec: others.length === 0 ? rest : { ...rest, finalizers: others } };
  writeDirectly(callOn(engine, definition, current, CONTROLLER), current, next as KubeObject);
  return true;
}

async function endCustomResource(engine: Engine, name: string): Promise<boolean> {
  const crd = engine.store.get(CRDS, undefined, name);
  if (crd?.metadata.deletionTimestamp === undefined) return true;
  const { spec } = crd as { spec?: { group?: string; names?: { plural?: string } } };
  const definition = storageDefinition(engine, `${spec?.group}/${spec?.names?.plural}`);
  if (definition !== undefined && (await emptied(engine, definition, undefined)) > 0) return false;
  const own = storageDefinition(engine, CRDS);
  const current = engine.store.get(CRDS, undefined, name);
  if (own === undefined || current === undefined) return true;
  writeDirectly(
    callOn(engine, own, current, CONTROLLER),
    current,
    withoutFinalizer(current, CRD_FINALIZER),
  );
  return true;
}

/** Deletes all objects of a resource, in a namespace or everywhere. Returns how many still exist afterwards. */
async function emptied(
  engine: Engine,
  definition: ResourceDefinition,
  namespace: string | undefined,
): Promise<number> {
  const { store } = engine;
  const { storageKey } = definition;
  for (const object of store.list(storageKey, namespace).objects) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    const call = callOn(engine, definition, object, CONTROLLER);
    await deleteObject(call, object.metadata.namespace, object.metadata.name, {
      propagationPolicy: "Background",
    });
  }
  return store.list(storageKey, namespace).objects.length;
}
