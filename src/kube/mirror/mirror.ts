/**
 * A mirror is our local picture of one kind, kept by list and watch. Reads are synchronous and in a
 * fixed order (by key). Writes of this process are seen at once: the client that the manager hands
 * out folds each answer into the mirrors, newer resourceVersion wins.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Steps } from "../../base/steps.ts";
import type { ReadFrame, ReadPage } from "../client/client.ts";
import type { ViewState } from "./watch.ts";

/** How an object changed in the mirror; a relist reports differences in the same way. */
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
  /** The first list has been taken in. */
  readonly synced: boolean;
  /** By key: `namespace/name`, or `name`. */
  get(key: string): T | undefined;
  /** All objects by ascending key. The same array until something changes; it never changes itself. */
  list(): readonly T[];
  /** All objects as they are now, in the order in which they came: at once, while {@link list} may have to sort them. */
  each(): readonly T[];
  readonly size: number;
  /** Objects whose index function yields `value`, by ascending key. Index must be declared. */
  byIndex(index: string, value: string): readonly T[];
  /** Calls the handler for each existing object (`added`) and each later change. Returns a function that stops it. */
  on(handler: MirrorHandler<T>): () => void;
  /**
   * As `on`, in steps. A change in between is passed on only for objects that the handler has received already; any
   * other object arrives later, in its latest state.
   */
  onInSteps(handler: MirrorHandler<T>): Feed;
}

/** A handler that is receiving the existing objects. */
export interface Feed {
  readonly feeding: Steps<void>;
  /** Ends the calls to the handler. */
  stop(): void;
}

/** Indexes of a mirror, the fields that it keeps of each object, and the objects that it watches. */
export interface MirrorOptions<T extends KubeObject> {
  /** Index name → values of one object. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  /** Drops fields that are not read, so that a million pods fit in memory. managedFields are always dropped. */
  readonly project?: (object: T) => T;
  /** Reads a watch's frames in protobuf, straight into what `project` would make of them. */
  readonly readFrame?: ReadFrame<T>;
  /** The same for pages of its list. */
  readonly readPage?: ReadPage<T>;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Only this namespace's objects: the right to read it there is enough. */
  readonly namespace?: string;
  /** While this picture may be behind the server's, nothing is decided: see `Mirrors.current`. */
  readonly vital?: boolean;
  /** Work goes on without it: when reading is forbidden it counts as empty, and is asked for again later. */
  readonly optional?: boolean;
}

/** Hands out one mirror a kind; all are synced before controllers start. */
export interface Mirrors {
  /** The mirror of `kind`, started on first use. Options count only then. */
  of<T extends KubeObject>(kind: Kind<T>, options?: MirrorOptions<T>): Mirror<T>;
  /** Whether the copy of a kind is current; `behind` for a kind without a mirror. */
  viewOf(kind: Kind): ViewState;
}

/** Whether the picture can be trusted. */
export interface Freshness {
  /** Every vital mirror hears from the server: its watch is open and not silent. */
  readonly current: boolean;
  /** Kinds of the vital mirrors that are behind, by name. */
  behind(): readonly string[];
}
