/**
 * Builds requests: path, verb, headers and body for each typed call. It does no I/O, so it is used for a real cluster,
 * for the sandbox and for tests.
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

/**
 * The path of a collection, such as `/apis/apps/v1/namespaces/x/deployments`. Without a namespace, it is the collection
 * of all namespaces.
 */
function collectionPath(kind: Kind, namespace?: string): string {
  const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${namespace}` : "";
  return `${root}${scope}/${kind.plural}`;
}

/**
 * The path of an object: `/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME`. In the core group it begins with
 * `/api/VERSION`.
 */
export function objectPath(kind: Kind, ref: ObjectRef, subresource?: string): string {
  const tail = subresource === undefined ? "" : `/${subresource}`;
  return `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}${tail}`;
}

/** The request for one page of a list. `continueToken`: from the previous page. */
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

/**
 * The request for a watch. It asks for bookmarks, so that a watch without changes can be distinguished from a broken
 * one.
 */
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

/** The request that creates an object: a POST to the collection. */
export function createRequest(kind: Kind, object: KubeObject): KubeRequest {
  return { method: "POST", path: collectionPath(kind, object.metadata.namespace), body: object };
}

/**
 * The request that replaces an object: a PUT. If the object has changed since its resourceVersion, the server answers
 * 409.
 */
export function updateRequest(kind: Kind, object: KubeObject, subresource?: string): KubeRequest {
  return { method: "PUT", path: objectPath(kind, object.metadata, subresource), body: object };
}

/** The request for a patch, with the content type of its type. */
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

/** The request for a deletion. The options are in the body. */
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

/** The request to the subresource `eviction`. The server answers 429 while a PodDisruptionBudget forbids it. */
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

/** The request to the subresource `binding`, which only a scheduler uses. */
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
