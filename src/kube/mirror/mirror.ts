/**
 * A mirror is a local copy of all objects of one kind, kept current by list and watch. Reads are synchronous, and
 * ordered by key. Own writes are visible at once: the manager's client puts each answer into the mirror, and the newer
 * resourceVersion wins.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Steps } from "../../base/steps.ts";
import type { ReadFrame, ReadPage } from "../client/client.ts";

/**
 * How far a mirror can be trusted.
 * - `current`: its watch is open, or it is certain that the kind is not installed.
 * - `behind`: the watch broke, or the kind is not served now. The objects are those of the last list or event.
 * - `unproven`: the mirror is empty, because the kind may not be read or is not served, although it may be installed.
 * - `setBack`: the last list has an older version than data before it. The server lags behind, or etcd was restored.
 *
 * A mirror that is `unproven` or `setBack` is good enough for planning, but does not prove that an object is gone.
 */
export type ViewState = "current" | "behind" | "unproven" | "setBack";

/** How an object changed. After a new list, its differences are reported in the same way. */
export type MirrorEvent = "added" | "updated" | "removed";

/**
 * Receives the changes of a mirror, synchronously and in order. `before` is undefined for `added`. Objects are frozen.
 */
export type MirrorHandler<T extends KubeObject> = (
  event: MirrorEvent,
  object: T,
  before: T | undefined,
) => void;

/** A copy of all objects of one kind, kept by a watch. Reading it makes no request. */
export interface Mirror<T extends KubeObject> {
  readonly kind: Kind<T>;
  /** Whether the first list is complete. */
  readonly synced: boolean;
  /** The object with this key, which is `namespace/name` or `name`. Undefined: there is none. */
  get(key: string): T | undefined;
  /** All objects by ascending key. Calls return the same array until something changes; an array is never modified. */
  list(): readonly T[];
  /** All current objects, in the order in which they arrived. It never sorts, unlike {@link list}. */
  each(): readonly T[];
  readonly size: number;
  /** Objects with `value` in a declared index, sorted by key. */
  byIndex(index: string, value: string): readonly T[];
  /**
   * Calls the handler for each existing object (`added`) and each later change. Returns a function that stops the
   * calls.
   */
  on(handler: MirrorHandler<T>): () => void;
  /**
   * Like `on`, in steps. Meanwhile, changes are passed on only for objects that the handler has already received. All
   * others are passed later, in their latest state.
   */
  onInSteps(handler: MirrorHandler<T>): Feed;
}

/** The progress of a handler through the existing objects. */
export interface Feed {
  readonly feeding: Steps<void>;
  /** Stops the calls to the handler. */
  stop(): void;
}

/** Indexes of a mirror, the fields that it keeps of each object, and the objects that it watches. */
export interface MirrorOptions<T extends KubeObject> {
  /** For each index, a function from an object to its values in the index. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Drops fields that are not read, so that a million pods fit into memory. Absent: only managedFields are dropped. */
  readonly project?: (object: T) => T;
  /** Decodes protobuf frames of a watch. The result must equal that of `project`. */
  readonly readFrame?: ReadFrame<T>;
  /** Decodes protobuf pages of a list. The result must equal that of `project`. */
  readonly readPage?: ReadPage<T>;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Watches only this namespace, so that rights in that namespace are enough. */
  readonly namespace?: string;
  /** Whether no decision is made while this mirror may be outdated; see `Mirrors.current`. */
  readonly vital?: boolean;
  /**
   * Whether other work does not wait for this mirror. If reading is forbidden it counts as empty, and is retried later.
   */
  readonly optional?: boolean;
}

/** Creates one mirror for each kind. All have their first list before controllers start. */
export interface Mirrors {
  /** The mirror of `kind`, which is started at the first call. Only the first call's options are used. */
  of<T extends KubeObject>(kind: Kind<T>, options?: MirrorOptions<T>): Mirror<T>;
  /** Whether the mirror of a kind is current. A kind without a mirror counts as `behind`. */
  viewOf(kind: Kind): ViewState;
  /** Says that a read contradicts the mirror of a kind. It is then compared with the server within minutes. */
  doubt(kind: Kind): void;
  /**
   * Kinds of vital mirrors whose lists are older than data before them, by name. A kind stays here until its versions
   * have caught up, also while its watch is broken.
   */
  setBack(): readonly SetBack[];
  /** Calls `listener` when {@link setBack} gains or loses a kind. The returned function removes the listener. */
  onSetBack(listener: () => void): () => void;
}

/** A kind whose lists are older than data before them. `sinceMs`: since when, in elapsed time. */
export interface SetBack {
  readonly kind: string;
  readonly sinceMs: number;
}

/** Whether the mirrors can be trusted. */
export interface Freshness {
  /** Whether every vital mirror is current: its watch is open and was not silent for too long. */
  readonly current: boolean;
  /** Names of the kinds whose vital mirrors are outdated. */
  behind(): readonly string[];
}
