/**
 * delete and deletecollection. An object with finalizers, or a pod with a grace period, is only marked, and a later
 * write removes it. Any other object is removed at once. The propagation policy becomes a finalizer, which tells the
 * garbage collector what to do with owned objects.
 */

import type { KubeObject, ObjectMeta } from "../../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { LARGEST_INT64 } from "../../../base/int64.ts";
import { isObject } from "../../../base/json.ts";
import { reviewDeletion } from "../admission/admission.ts";
import { CRD_FINALIZER } from "../custom-resources.ts";
import { type Call, isDryRun } from "../engine.ts";
import { showList, type View } from "../request/representation.ts";
import { asBoolean, selectionOf } from "../request/selectors.ts";
import {
  type ApiError,
  badRequest,
  conflict,
  deleted,
  forbidden,
  invalid,
  notFound,
  STALE_WRITE,
  type Status,
} from "../request/status.ts";
import { invalid as invalidField, notSupported } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import { hasSpecFinalizers } from "../store/store-update.ts";
import { fromStorage, listFromStorage } from "../versions/conversion.ts";
import { withBumpedGeneration } from "./object-meta.ts";
import { int64Of } from "./query-integer.ts";

/** Options from the body or the query of a delete request. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: string | undefined;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly dryRun?: boolean | undefined;
  /** Whether the delete is part of an eviction, which admission has already checked. */
  readonly isEviction?: boolean;
}

/** The answer: the object, if it was only marked or if its kind returns it; else a Success Status. */
export type Deletion =
  | { readonly kind: "object"; readonly object: KubeObject }
  | { readonly kind: "status"; readonly status: Status };

export const FOREGROUND_FINALIZER = "foregroundDeletion";
export const ORPHAN_FINALIZER = "orphan";

const MAX_ATTEMPTS = 5;
/** Grace period in seconds of a pod whose spec has none. */
const DEFAULT_POD_GRACE_SECONDS = 30;
const PROTECTED_NAMESPACES: ReadonlySet<string> = new Set([
  "default",
  "kube-system",
  "kube-public",
]);
/** Deleting an object of these kinds returns the object even if it is removed at once. */
const RETURNS_OBJECT: ReadonlySet<string> = new Set([
  "Pod",
  "PersistentVolumeClaim",
  "PersistentVolume",
  "PodTemplate",
  "ResourceQuota",
  "Service",
  "ServiceAccount",
  "StorageClass",
  "CSINode",
  "VolumeAttachment",
  "CSIDriver",
]);

/** Kinds that get no `deletionGracePeriodSeconds` when they are deleted. */
const UNCOUNTED: ReadonlySet<string> = new Set(["Namespace", "CustomResourceDefinition"]);

/** DeleteOptions of the body and the query. Throws 400 or 422 for invalid options. */
export function deleteOptionsOf(call: Call): DeleteOptions {
  const { body, query } = call;
  if (body !== undefined && body !== null && !isObject(body)) {
    throw badRequest("the body of a delete must be DeleteOptions");
  }
  const sent = (isObject(body) ? body : {}) as Partial<Record<string, unknown>>;
  const gracePeriodSeconds = gracePeriodOf(sent["gracePeriodSeconds"], query);
  const policy = (sent["propagationPolicy"] ?? query.get("propagationPolicy") ?? undefined) as
    | string
    | undefined;
  if (policy !== undefined && !["Orphan", "Background", "Foreground"].includes(policy)) {
    const known = ["Foreground", "Background", "Orphan", "nil"];
    throw refusedOptions(notSupported("propagationPolicy", policy, known));
  }
  const orphan = sent["orphanDependents"] ?? asBoolean(query.get("orphanDependents"));
  if (orphan !== undefined && policy !== undefined) {
    const text = "orphanDependents and deletionPropagation cannot be both set";
    throw refusedOptions(invalidField("propagationPolicy", policy, text));
  }
  const asked = (sent["dryRun"] ?? []) as readonly string[];
  if (asked.some((value) => value !== "All"))
    throw refusedOptions(notSupported("dryRun", asked, ["All"]));
  const dryRun = asked.includes("All");
  return {
    gracePeriodSeconds,
    propagationPolicy:
      policy ?? (orphan === true ? "Orphan" : orphan === false ? "Background" : undefined),
    preconditions: sent["preconditions"] as DeleteOptions["preconditions"],
    dryRun: dryRun || isDryRun(call),
  };
}

function refusedOptions(error: FieldError): ApiError {
  return invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [error]);
}

/** Deletes the object `name` of the call's namespace. */
export async function deleteObject(
  call: Call,
  namespace: string | undefined,
  name: string,
  options: DeleteOptions,
): Promise<Deletion> {
  const { engine, definition } = call;
  const { storageKey } = definition;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const stored = engine.store.get(storageKey, namespace, name);
    if (stored === undefined) throw notFound(definition, name);
    checkPreconditions(call, stored, options);
    if (definition.kind === "Namespace" && PROTECTED_NAMESPACES.has(name)) {
      throw forbidden(definition, name, "this namespace may not be deleted");
    }
    const old = await fromStorage(engine, definition, stored);
    if (options.isEviction !== true) await reviewDeletion(call, old);
    if (engine.store.get(storageKey, namespace, name) !== stored) continue;
    return applyDelete(call, stored, old, options);
  }
  throw conflict(definition, name, STALE_WRITE);
}

async function applyDelete(
  call: Call,
  stored: KubeObject,
  old: KubeObject,
  options: DeleteOptions,
): Promise<Deletion> {
  const { engine, definition } = call;
  const { namespace, name } = stored.metadata;
  const { storageKey } = definition;
  const dryRun = options.dryRun === true;
  const next = markedForDeletion(call, stored, options);
  if (next !== undefined) {
    if (next === stored) return { kind: "object", object: old };
    const marked = dryRun ? next : engine.store.put(storageKey, next);
    return { kind: "object", object: await fromStorage(engine, definition, marked) };
  }
  const isReturned = RETURNS_OBJECT.has(definition.kind);
  if (definition.kind === "Pod" && definition.group === "" && dryRun)
    return { kind: "object", object: ended(call, stored) };
  if (definition.kind === "Pod" && definition.group === "") {
    // A pod is marked even with a grace period of 0, and watchers see the mark before the deletion.
    const marked = engine.store.put(storageKey, ended(call, stored));
    const last = engine.store.remove(storageKey, namespace, name);
    return { kind: "object", object: last ?? marked };
  }
  const last = dryRun ? undefined : engine.store.remove(storageKey, namespace, name);
  if (isReturned) {
    const { resourceVersion = old.metadata.resourceVersion } = last?.metadata ?? {};
    const metadata = { ...old.metadata, resourceVersion } as ObjectMeta;
    return { kind: "object", object: { ...old, metadata } };
  }
  return { kind: "status", status: deleted(definition, stored) };
}

/**
 * The object marked for deletion; `stored` itself if it is marked already. Undefined: nothing delays the deletion, so
 * the object can be removed now.
 */
function markedForDeletion(
  call: Call,
  stored: KubeObject,
  options: DeleteOptions,
): KubeObject | undefined {
  const { metadata } = stored;
  const finalizers = finalizersFor(call, metadata, options.propagationPolicy);
  const graceSeconds = graceOf(stored, options.gracePeriodSeconds);
  const isHeld = finalizers.length > 0 || hasSpecFinalizers(stored);
  const running =
    metadata.deletionTimestamp === undefined
      ? undefined
      : (metadata.deletionGracePeriodSeconds ?? 0);
  // A request without a grace period changes nothing for an object that is being deleted already.
  const isPending = options.gracePeriodSeconds === undefined && (running ?? 0) > 0;
  if (!isHeld && graceSeconds === 0 && !isPending) return undefined;
  const sameFinalizers = finalizers.join() === (metadata.finalizers ?? []).join();
  if (running !== undefined && (isPending || graceSeconds >= running) && sameFinalizers)
    return stored;
  const shorter = Math.min(graceSeconds, metadata.deletionGracePeriodSeconds ?? graceSeconds);
  const nowMs = call.engine.clock.now();
  // A shorter grace period counts from the first deletion request.
  const firstMs =
    (fromRfc3339(metadata.deletionTimestamp) ?? nowMs) -
    spanMs(metadata.deletionGracePeriodSeconds ?? 0);
  const { finalizers: _old, ...rest } = metadata;
  const marked: KubeObject = {
    ...stored,
    metadata: {
      ...rest,
      ...(finalizers.length === 0 ? {} : { finalizers }),
      deletionTimestamp: toRfc3339(firstMs + spanMs(shorter)),
      ...(UNCOUNTED.has(stored.kind ?? "") ? {} : { deletionGracePeriodSeconds: shorter }),
    },
  };
  if (stored.kind === "CustomResourceDefinition") return terminatingDefinition(marked, nowMs);
  const first = metadata.deletionTimestamp === undefined;
  return terminatingNamespace(first ? withBumpedGeneration(marked) : marked);
}

/** The grace period of the body, else of the query. Throws 400 if it is no int64. */
function gracePeriodOf(sent: unknown, query: URLSearchParams): number | undefined {
  const asked = query.get("gracePeriodSeconds");
  if (sent === undefined || sent === null) return asked === null ? undefined : int64Of(asked);
  if (typeof sent !== "number") return int64Of(`${sent}`);
  if (Number.isInteger(sent) && Math.abs(sent) <= LARGEST_INT64) return sent;
  throw badRequest(
    `json: cannot unmarshal number ${sent} into Go struct field DeleteOptions.gracePeriodSeconds of type int64`,
  );
}

/** Milliseconds of a span that kube-apiserver counts as an int64 of nanoseconds, which overflows after 292 years. */
function spanMs(seconds: number): number {
  const ns = BigInt.asIntN(64, BigInt(Math.trunc(seconds)) * 1_000_000_000n);
  return Number(ns / 1_000_000n);
}

function ended(call: Call, stored: KubeObject): KubeObject {
  const { metadata } = stored;
  const marked: KubeObject = {
    ...stored,
    metadata: {
      ...metadata,
      deletionTimestamp: metadata.deletionTimestamp ?? toRfc3339(call.engine.clock.now()),
      deletionGracePeriodSeconds: 0,
    },
  };
  return metadata.deletionTimestamp === undefined ? withBumpedGeneration(marked) : marked;
}

/** The CustomResourceDefinition with the condition Terminating, which does not raise its generation. */
function terminatingDefinition(object: KubeObject, nowMs: number): KubeObject {
  const { status = {} } = object as { status?: { readonly conditions?: readonly object[] } };
  const ending = {
    type: "Terminating",
    status: "True",
    lastTransitionTime: toRfc3339(nowMs),
    reason: "InstanceDeletionPending",
    message:
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
  const conditions = [...(status.conditions ?? []), ending];
  return { ...object, status: { ...status, conditions } } as KubeObject;
}

function terminatingNamespace(object: KubeObject): KubeObject {
  if (object.kind !== "Namespace") return object;
  const { status } = object as { status?: Record<string, unknown> };
  return { ...object, status: { ...status, phase: "Terminating" } } as KubeObject;
}

/** The grace period in seconds. 0 for kinds other than pods, for pods without a node, and for pods that have ended. */
function graceOf(object: KubeObject, asked: number | undefined): number {
  if (object.kind !== "Pod" || object.apiVersion !== "v1") return 0;
  const { spec, status } = object as {
    spec?: { nodeName?: string; terminationGracePeriodSeconds?: number };
    status?: { phase?: string };
  };
  if (!spec?.nodeName || status?.phase === "Succeeded" || status?.phase === "Failed") return 0;
  const grace = asked ?? spec.terminationGracePeriodSeconds ?? DEFAULT_POD_GRACE_SECONDS;
  // For kube-apiserver a negative grace period means the shortest possible one.
  return grace < 0 ? 1 : grace;
}

function finalizersFor(
  call: Call,
  metadata: ObjectMeta,
  policy: string | undefined,
): readonly string[] {
  const { group, kind } = call.definition;
  const current = [...(metadata.finalizers ?? [])];
  // A CustomResourceDefinition stays until all objects of its kind are deleted.
  if (kind === "CustomResourceDefinition" && !current.includes(CRD_FINALIZER))
    current.push(CRD_FINALIZER);
  const orphansByDefault =
    (group === "batch" && kind === "Job") || kind === "ReplicationController";
  const wanted = policy ?? (orphansByDefault ? "Orphan" : undefined);
  if (wanted === undefined) return current;
  const others = current.filter(
    (finalizer) => finalizer !== FOREGROUND_FINALIZER && finalizer !== ORPHAN_FINALIZER,
  );
  // Pods own nothing, so a propagation policy would only delay their deletion.
  if (kind === "Pod" && group === "") return others;
  if (wanted === "Foreground") return [...others, FOREGROUND_FINALIZER];
  if (wanted === "Orphan") return [...others, ORPHAN_FINALIZER];
  return others;
}

function checkPreconditions(call: Call, stored: KubeObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = stored;
  // The other conflict errors name the resource; this one names the kind.
  const named = { group: call.definition.group, plural: call.definition.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      named,
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      named,
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** Deletes all objects that the selectors match, and returns a list of them. */
export async function deleteCollection(call: Call, view: View): Promise<unknown> {
  const { engine, definition, path, query } = call;
  const options = deleteOptionsOf(call);
  const matches = selectionOf(definition, query);
  const { objects, revision } = engine.store.list(definition.storageKey, path.namespace);
  const chosen = objects.filter(matches);
  for (const { metadata } of chosen) {
    try {
      await deleteObject(call, metadata.namespace, metadata.name, options);
    } catch (error) {
      // Another request deleted the object first, which is the wanted result.
      if (
        engine.store.get(definition.storageKey, metadata.namespace, metadata.name) !== undefined
      ) {
        throw error;
      }
    }
  }
  const shown = await listFromStorage(engine, definition, chosen);
  return showList(engine, definition, view, shown, { resourceVersion: String(revision) });
}
