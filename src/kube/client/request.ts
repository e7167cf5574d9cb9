/**
 * Builds requests: path, verb, headers and body for each typed call. It does no I/O, so a real cluster, the
 * sandbox and tests share it.
 */
import { POD } from "../../apis/core/pod.ts";
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { KubeRequest } from "../transport/transport.ts";
import type {
  DeleteOptions,
  KubeClient,
  ListOptions,
  ObjectRef,
  Patch,
  WatchOptions,
} from "./client.ts";

const PATCH_CONTENT_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  // JSON is valid YAML, and every server version accepts this content type.
  apply: "application/apply-patch+yaml",
} as const;

/** `/apis/apps/v1/namespaces/x/deployments`; without a namespace, of all namespaces. */
function collectionPath(kind: Kind, namespace?: string): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${namespace}` : "";
  return `${root}${scope}/${kind.plural}`;
}

/** `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME`; the core group begins with `/api/VERSION`. */
export function objectPath(kind: Kind, ref: ObjectRef, subresource?: string): string {
  const tail = subresource === undefined ? "" : `/${subresource}`;
  return `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}${tail}`;
}

/** One page. `continueToken` comes from the page before it. */
export function listRequest(kind: Kind, options: ListOptions, continueToken?: string): KubeRequest {
  const query = {
    limit: String(options.limit ?? 500),
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: continueToken === undefined ? options.resourceVersion : undefined,
    continue: continueToken,
  };
  return { method: "GET", path: collectionPath(kind, options.namespace) + queryText(query) };
}

/** Bookmarks are requested, so that a quiet stream can be distinguished from a dead one. */
export function watchRequest(kind: Kind, options: WatchOptions): KubeRequest {
  const query = {
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: options.resourceVersion,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    timeoutSeconds:
      options.timeoutSeconds === undefined ? undefined : String(options.timeoutSeconds),
  };
  return { method: "GET", path: collectionPath(kind, options.namespace) + queryText(query) };
}

/** POST to the collection. */
export function createRequest(kind: Kind, object: KubeObject): KubeRequest {
  return { method: "POST", path: collectionPath(kind, object.metadata.namespace), body: object };
}

/** PUT; the object's resourceVersion makes the server refuse a lost race with 409. */
export function updateRequest(kind: Kind, object: KubeObject, subresource?: string): KubeRequest {
  return { method: "PUT", path: objectPath(kind, object.metadata, subresource), body: object };
}

/** PATCH, with the content type of the patch. */
export function patchRequest(
  kind: Kind,
  ref: ObjectRef,
  patch: Patch,
  subresource?: string,
): KubeRequest {
  const query =
    patch.type === "apply"
      ? queryText({ fieldManager: patch.fieldManager, force: patch.force ? "true" : undefined })
      : "";
  return {
    method: "PATCH",
    path: objectPath(kind, ref, subresource) + query,
    headers: { "content-type": PATCH_CONTENT_TYPES[patch.type] },
    body: patch.body,
  };
}

/** DELETE; the options are in the body. */
export function deleteRequest(kind: Kind, ref: ObjectRef, options: DeleteOptions): KubeRequest {
  return {
    method: "DELETE",
    path: objectPath(kind, ref),
    body: { apiVersion: "v1", kind: "DeleteOptions", ...options },
  };
}

function queryText(values: Readonly<Record<string, string | undefined>>): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) pairs.push(`${name}=${encodeURIComponent(value)}`);
  }
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

/** The subresource `eviction`: the server answers 429 while a PodDisruptionBudget forbids it. */
export function evictRequest({ name, namespace }: ObjectRef, options: DeleteOptions): KubeRequest {
  return {
    method: "POST",
    path: objectPath(POD, { name, namespace }, "eviction"),
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace },
      deleteOptions: options,
    },
  };
}

/** The subresource `binding`, which only a scheduler uses. */
export function bindRequest(pod: Parameters<KubeClient["bind"]>[0], node: string): KubeRequest {
  const { name, namespace, uid } = pod;
  return {
    method: "POST",
    path: objectPath(POD, pod, "binding"),
    body: {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name, namespace, uid },
      target: { apiVersion: "v1", kind: "Node", name: node },
    },
  };
}
