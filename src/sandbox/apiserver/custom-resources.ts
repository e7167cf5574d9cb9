/**
 * Serves CustomResourceDefinitions. Each change of a definition updates its status and the registry at once. So a
 * client can use a kind right after creating its definition. A deleted definition stays until its objects are deleted;
 * `namespace-lifecycle.ts` deletes them.
 */
import type { KubeObject } from "../../apis/meta.ts";
import type { Engine } from "./engine.ts";
import { establish } from "./registry/establish.ts";
import type { StoreEvent } from "./store/store.ts";

export const CRDS = "apiextensions.k8s.io/customresourcedefinitions";

/** The finalizer that keeps a definition until its objects are deleted. */
export const CRD_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

/** The part of the registry that takes CRDs. Without it, the set of kinds is fixed. */
export interface CrdSink {
  setCrds(crds: readonly KubeObject[]): void;
}

/** Starts to serve the CRDs of the store. Returns a function that stops this. */
export function serveCustomResources(engine: Engine, sink: CrdSink): () => void {
  sink.setCrds(engine.store.list(CRDS).objects);
  return engine.store.subscribe(CRDS, (event) => takeChange(engine, sink, event));
}

function takeChange(engine: Engine, sink: CrdSink, event: StoreEvent): void {
  const { store } = engine;
  const { name } = event.object.metadata;
  if (store.get(CRDS, undefined, name) !== undefined) bringUpToDate(engine, name);
  else {
    // The names of the deleted CRD are free now. A CRD that was not accepted because of these names may be accepted
    // now.
    for (const { metadata } of store.list(CRDS).objects) bringUpToDate(engine, metadata.name);
  }
  sink.setCrds(store.list(CRDS).objects);
}

function bringUpToDate({ clock, store }: Engine, name: string): void {
  const current = store.get(CRDS, undefined, name);
  if (current === undefined) return;
  const others = store.list(CRDS).objects.filter((crd) => crd.metadata.name !== name);
  const established = establish(current, clock.now(), others);
  if (established !== current) store.put(CRDS, established);
}
