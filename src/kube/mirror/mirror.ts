/**
 * A mirror is a local copy of all objects of one kind, kept by list and watch. Reads are synchronous, and
 * ordered by key. Own writes are visible at once: the manager's client puts each answer into the mirror, and
 * the newer resourceVersion wins.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Steps } from "../../base/steps.ts";
import type { ReadFrame, ReadPage } from "../client/client.ts";
import type { ViewState } from "./watch.ts";

/** How an object changed. A new list reports its differences in the same way. */
export type MirrorEvent = "added" | "updated" | "removed";

/** `before` is absent for `added`. Objects are frozen. Handlers run synchronously, in order. */
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
  /** The object with this key: `namespace/name`, or `name`. */
  get(key: string): T | undefined;
  /**
   * All objects by ascending key. Calls return the same array until something changes; an array is never
   * changed in place.
   */
  list(): readonly T[];
  /** All objects now, in order of arrival. It never sorts, unlike {@link list}. */
  each(): readonly T[];
  readonly size: number;
  /** Objects with `value` in a declared index, sorted by key. */
  byIndex(index: string, value: string): readonly T[];
  /** Calls the handler for each existing object (`added`) and each later change. Returns a function that stops it. */
  on(handler: MirrorHandler<T>): () => void;
  /**
   * As `on`, in steps. Meanwhile, changes are passed on only for objects that the handler has already
   * received. All others arrive later, in their latest state.
   */
  onInSteps(handler: MirrorHandler<T>): Feed;
}

/** A handler's progress through the existing objects. */
export interface Feed {
  readonly feeding: Steps<void>;
  /** Ends the calls to the handler. */
  stop(): void;
}

/** Indexes of a mirror, the fields that it keeps of each object, and the objects that it watches. */
export interface MirrorOptions<T extends KubeObject> {
  /** Index name → function from an object to its values in the index. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Drops fields that are not read, so that a million pods fit in memory. Default: drops only managedFields. */
  readonly project?: (object: T) => T;
  /** Decodes protobuf frames of a watch. The result must equal that of `project`. */
  readonly readFrame?: ReadFrame<T>;
  /** The same for pages of its list. */
  readonly readPage?: ReadPage<T>;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Watches only this namespace, so that rights in that namespace are enough. */
  readonly namespace?: string;
  /** No decision is made while this copy may be behind the server: see `Mirrors.current`. */
  readonly vital?: boolean;
  /** Other work does not wait for this copy. If reading is forbidden it counts as empty, and is retried later. */
  readonly optional?: boolean;
}

/** Creates one mirror for each kind. All have their first list before controllers start. */
export interface Mirrors {
  /** The mirror of `kind`, started on first use. Only the first call's options are used. */
  of<T extends KubeObject>(kind: Kind<T>, options?: MirrorOptions<T>): Mirror<T>;
  /** Whether the copy of a kind is current; `behind` for a kind without a mirror. */
  viewOf(kind: Kind): ViewState;
}

/** Whether the copies can be trusted. */
export interface Freshness {
  /** Whether every vital mirror is current: its watch is open and not silent for too long. */
  readonly current: boolean;
  /** Names of the kinds whose vital mirrors are behind. */
  behind(): readonly string[];
}
