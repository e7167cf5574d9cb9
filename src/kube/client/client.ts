/**
 * The client for Kubernetes: typed requests over any transport. Returned objects are frozen. Requests reject with
 * `KubeError` (an error answer) or `ConnectionError` (no answer).
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { KubeRequest, KubeResponse } from "../transport/transport.ts";

/** The name of one object. `namespace` is required for namespaced kinds. */
export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** What is listed. Selectors have the syntax of the API. Without a namespace, all namespaces are listed. */
export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size. Lists are read in pages and joined. Absent: 500. */
  readonly limit?: number;
  readonly resourceVersion?: string;
}

/** A list of objects. A watch must begin at its `resourceVersion`, so that no change is missed. */
export interface KubeList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Whether the items have already been reduced by `keep` of {@link KeepOptions}. If so, they are frozen. */
  readonly kept?: true;
}

/**
 * `keep`: reduces each item and freezes it, so that a page's memory is freed before the next page. `readPage`: makes
 * the request ask for protobuf, if the server and the transport support it, and returns reduced items.
 */
export interface KeepOptions<T extends KubeObject> {
  readonly keep?: ((item: T) => T) | undefined;
  readonly readPage?: ReadPage<T> | undefined;
}

/** One page of a list. */
export interface ListPage<T> {
  readonly items: readonly T[];
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    /** Number of objects on later pages. Absent: it is not known, or there are none. */
    readonly remainingItemCount?: number;
  };
}

/** Decodes a page of a list in protobuf. Throws for invalid bytes. */
export type ReadPage<T extends KubeObject = KubeObject> = (page: Uint8Array) => ListPage<T>;

/**
 * The types of watch events. BOOKMARK contains only a resourceVersion; ERROR contains a Status instead of an object.
 */
export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** One event of a watch. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: WatchEventType;
  readonly object: T;
  /** Whether the object is already reduced to the fields that a mirror keeps, and frozen. */
  readonly projected?: true;
}

/** Decodes a frame of a watch in protobuf. Throws for invalid bytes. */
export type ReadFrame<T extends KubeObject = KubeObject> = (frame: Uint8Array) => WatchEvent<T>;

/**
 * Like {@link ReadFrame}, but may keep a frame for later. Undefined: it was kept, and the watch goes on with the next
 * frame. The bytes are valid only during the call.
 */
export type TakeFrame<T extends KubeObject = KubeObject> = (
  frame: Uint8Array,
) => WatchEvent<T> | undefined;

/** An open watch. Iteration ends if the server ends it, and throws if the connection breaks. */
export interface Watch<T extends KubeObject> extends AsyncIterable<WatchEvent<T>> {
  close(): void;
}

/** What is watched. The server sends changes after `resourceVersion`, and ends the watch after the timeout. */
export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  readonly timeoutSeconds?: number;
}

/** Options of reads. With `readFrame` the request asks for protobuf, if server and transport support it. */
export interface ReadOptions<T extends KubeObject> {
  readonly readFrame?: TakeFrame<T> | undefined;
}

/** The patch types of the API server. `apply` is server-side apply and needs a field manager. */
export type Patch =
  | { readonly type: "merge"; readonly body: unknown }
  | { readonly type: "json"; readonly body: readonly unknown[] }
  | { readonly type: "strategic"; readonly body: unknown }
  | {
      readonly type: "apply";
      readonly body: KubeObject;
      readonly fieldManager: string;
      readonly force?: boolean;
    };

/** Options of a deletion. With preconditions, the server answers 409 if another object has this name now. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/**
 * Typed calls to the API server. Each rejects with KubeError for an HTTP error, and with the transport's error if no
 * answer came.
 */
export interface KubeClient {
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): Promise<T>;
  list<T extends KubeObject>(
    kind: Kind<T>,
    options?: ListOptions & KeepOptions<T>,
  ): Promise<KubeList<T>>;
  /** Opens a watch. Iteration throws `UnreadableFrame` if `readFrame` throws. */
  watch<T extends KubeObject>(
    kind: Kind<T>,
    options: WatchOptions & ReadOptions<T>,
  ): Promise<Watch<T>>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  /** Replaces the whole object by a PUT with its resourceVersion. */
  update<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  updateStatus<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    patch: Patch,
    subresource?: "status" | "scale",
  ): Promise<T>;
  /** Resolves to the body of the answer: the object as it is being deleted, or a Status. */
  delete<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<unknown>;
  /** Evicts a pod (policy/v1 Eviction). Rejects with 429 if a PodDisruptionBudget forbids it now. */
  evict(pod: ObjectRef, options?: DeleteOptions): Promise<void>;
  /** Binds a pod to a node. Only the sandbox's scheduler uses it. */
  bind(pod: ObjectRef & { readonly uid?: string | undefined }, nodeName: string): Promise<void>;
  /** Sends any other request. Rejects with KubeError for a status of 400 or above. */
  raw(request: KubeRequest): Promise<KubeResponse>;
}

/**
 * Sends the difference between `before` and `after` as a merge patch: metadata and spec first, then status through its
 * subresource. Nothing is sent for equal objects. Merge patches replace whole lists, so a patch with a list contains
 * the resourceVersion (optimistic lock). Resolves to `undefined` if the object is gone.
 */
export type PatchObject = <T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  before: T,
  after: T,
) => Promise<T | undefined>;
