/**
 * The door to Kubernetes: typed requests over any transport. Objects that come back are frozen.
 * Everything rejects with `KubeError` (an answer that refuses) or `ConnectionError` (no answer).
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { KubeRequest, KubeResponse } from "../transport/transport.ts";

/** Names one object. `namespace` is required for namespaced kinds. */
export interface ObjectRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** Selectors have the syntax of the API. Without a namespace, all namespaces are listed. */
export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; lists are read in pages and joined. Default 500. */
  readonly limit?: number;
  readonly resourceVersion?: string;
}

/** `resourceVersion` is where a watch must begin to miss nothing. */
export interface KubeList<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** The items have been reduced by `keep` already, and are frozen. */
  readonly kept?: true;
}

/**
 * `keep`: what is kept of each item, frozen; the rest is let go page by page. `readPage`: asks for protobuf where the
 * server and the transport have it; its items are what `keep` would make of them.
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
    /** Objects of the list that later pages hold; absent: not known, or none. */
    readonly remainingItemCount?: number;
  };
}

/** Reads one page of a list in Kubernetes' protobuf encoding. Throws for what it cannot read. */
export type ReadPage<T extends KubeObject = KubeObject> = (page: Uint8Array) => ListPage<T>;

/** BOOKMARK carries only a resourceVersion; ERROR carries a Status instead of an object. */
export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** One line of a watch. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  readonly type: WatchEventType;
  readonly object: T;
  /** The object is what a mirror keeps of it already, frozen. */
  readonly projected?: true;
}

/** Reads one frame of a watch in Kubernetes' protobuf encoding. Throws for what it cannot read. */
export type ReadFrame<T extends KubeObject = KubeObject> = (frame: Uint8Array) => WatchEvent<T>;

/** An open watch. Iteration ends when the server ends it and throws when the connection breaks. */
export interface Watch<T extends KubeObject> extends AsyncIterable<WatchEvent<T>> {
  close(): void;
}

/** A watch from `resourceVersion` on, exclusive. The server ends it after the timeout. */
export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  readonly timeoutSeconds?: number;
}

/** With `readFrame` the request asks for protobuf, if server and transport support it. */
export interface ReadOptions<T extends KubeObject> {
  readonly readFrame?: ReadFrame<T> | undefined;
}

/** The patch types of the API server; `apply` is server-side apply and needs a field manager. */
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

/** With preconditions the server answers 409 if the object is another one by now. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/**
 * Typed calls to the API server. Each rejects with KubeError for an HTTP error, and with the transport's error if
 * no answer came.
 */
export interface KubeClient {
  get<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef): Promise<T>;
  list<T extends KubeObject>(
    kind: Kind<T>,
    options?: ListOptions & KeepOptions<T>,
  ): Promise<KubeList<T>>;
  /** Iteration throws `UnreadableFrame` where `readFrame` throws. */
  watch<T extends KubeObject>(
    kind: Kind<T>,
    options: WatchOptions & ReadOptions<T>,
  ): Promise<Watch<T>>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  /** PUT: the whole object, with its resourceVersion. */
  update<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  updateStatus<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    patch: Patch,
    subresource?: "status" | "scale",
  ): Promise<T>;
  delete<T extends KubeObject>(
    kind: Kind<T>,
    ref: ObjectRef,
    options?: DeleteOptions,
  ): Promise<void>;
  /** policy/v1 Eviction of a pod. 429 when a PDB forbids it now. */
  evict(pod: ObjectRef, options?: DeleteOptions): Promise<void>;
  /** Binding of a pod to a node (the sandbox's scheduler). */
  bind(pod: ObjectRef & { readonly uid?: string | undefined }, nodeName: string): Promise<void>;
  /** Anything else; rejects with KubeError when the status is 400 or above. */
  raw(request: KubeRequest): Promise<KubeResponse>;
}

/**
 * Sends what turns `before` into `after` as one merge patch: metadata and spec first, then status
 * through its subresource. Sends nothing when equal. A list that changed makes the patch carry the
 * resourceVersion (optimistic lock), because merge patches replace lists whole. An object that is
 * gone counts as done: resolves `undefined`.
 */
export type PatchObject = <T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  before: T,
  after: T,
) => Promise<T | undefined>;
