/** namespaces/finalize: replaces the finalizers in a namespace's spec. The namespace is removed when none is left. */
import type { KubeObject } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";
import type { KubeResponse } from "../../../kube/transport/transport.ts";
import { type Call, isDryRun } from "../engine.ts";
import { writeDirectly } from "../objects/direct-write.ts";
import { badRequest, conflict, notFound, STALE_WRITE } from "../request/status.ts";

/** Removes finalizers of a namespace's spec. */
export async function finalizeNamespace(call: Call): Promise<KubeResponse> {
  const { body, definition, engine, path } = call;
  const name = path.name as string;
  const stored = engine.store.get(definition.storageKey, undefined, name);
  if (stored === undefined) throw notFound(definition, name);
  if (!isObject(body)) throw badRequest("the body of namespaces/finalize must be a Namespace");
  const sent = body as Partial<KubeObject> & { spec?: { finalizers?: readonly string[] } };
  const version = sent.metadata?.resourceVersion;
  if (version && version !== stored.metadata.resourceVersion) {
    throw conflict(definition, name, STALE_WRITE);
  }
  const finalizers = sent.spec?.finalizers ?? [];
  const { spec } = stored as { spec?: Record<string, unknown> };
  const { finalizers: _old, ...rest } = spec ?? {};
  const next = {
    ...stored,
    spec: finalizers.length === 0 ? rest : { ...rest, finalizers },
  } as KubeObject;
  const object = isDryRun(call) ? next : writeDirectly(call, stored, next);
  return { status: 200, headers: { "content-type": "application/json" }, body: object };
}
