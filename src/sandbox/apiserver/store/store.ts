/**
 * The state of the cluster: frozen objects by resource, namespace and name. One global version grows with
 * every write. A bounded history for each resource lets watches resume and old lists be rebuilt. Synchronous.
 * Only the engine writes here.
 */

import type { KubeObject } from "../../../apis/meta.ts";
import { firstNotBelow } from "../../../base/sorted.ts";
import { checkStorable, freezeCounting } from "./size.ts";

/** One write. `previous` is absent for the first write of an object. For a removal, `object` is the last state. */
export interface StoreEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly storageKey: string;
  readonly key: string;
  readonly object: KubeObject;
  readonly previous: KubeObject | undefined;
  /** Roughly how much memory this write added. */
  readonly bytes: number;
}

/** The objects of one list, and the version at which they were read. */
export interface Listing {
  /** The objects in key order: namespace, then name. */
  readonly objects: readonly KubeObject[];
  readonly revision: number;
}

/** Number of writes kept for each resource. A watch that is further behind must list again. */
const HISTORY_LIMIT = 20_000;
/** Limit of the memory of all kept writes, in bytes. */
const HISTORY_LIMIT_BYTES = 64 * 1_024 * 1_024;
/** Memory of a kept write in addition to its object, in bytes. */
const EVENT_BYTES = 128;

/** `namespace/name`; the namespace is empty for cluster-scoped objects. */
export function storeKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

class Shelf {
  readonly objects = new Map<string, KubeObject>();
  /** The keys of the objects, sorted. A new key is inserted at its position. */
  readonly keys: string[] = [];
  history: StoreEvent[] = [];
  historyBytes = 0;
  /** An upper bound of each object's size in bytes, by key. */
  readonly sizes = new Map<string, number>();
  /** Writes up to this version are no longer kept. */
  forgotten = 0;
  readonly listeners = new Set<(event: StoreEvent) => void>();
}

/** All objects, with one version counter, as in etcd. A write calls the listeners before it returns. */
export class Store {
  readonly #shelves = new Map<string, Shelf>();
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  readonly #historyLimit: number;
  readonly #unheard: StoreEvent[] = [];
  /** Functions that make the deferred writes of a resource, by storage key. */
  readonly #deferred = new Map<string, () => void>();
  readonly #historyLimitBytes: number;
  #historyBytes = 0;
  #isTelling = false;
  #revision: number;

  /** Limits of the history: number of writes for each resource, and bytes of all writes. */
  constructor(
    historyLimit: number = HISTORY_LIMIT,
    historyLimitBytes: number = HISTORY_LIMIT_BYTES,
  ) {
    this.#historyLimit = historyLimit;
    this.#historyLimitBytes = historyLimitBytes;
    this.#revision = 1;
  }

  /** The version of the last write. */
  get revision(): number {
    return this.#revision;
  }

  get(storageKey: string, namespace: string | undefined, name: string): KubeObject | undefined {
    this.#writeDeferred(storageKey);
    return this.peek(storageKey, namespace, name);
  }

  /** Like {@link get}, but makes no deferred writes. */
  peek(storageKey: string, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#shelves.get(storageKey)?.objects.get(storeKey(namespace, name));
  }

  /**
   * Defers writes of a resource until it is read: `write` is called before each read and each other write of it. It
   * must make its writes in the order of their versions, which come from {@link reserve}.
   */
  defer(storageKey: string, write: () => void): void {
    this.#deferred.set(storageKey, write);
  }

  /** The version of a write that is made later. */
  reserve(): number {
    return ++this.#revision;
  }

  /** Whether a watch of the resource is open. Then its writes must not be deferred. */
  isWatched(storageKey: string): boolean {
    return (this.#shelves.get(storageKey)?.listeners.size ?? 0) > 0;
  }

  /** Number of objects of one resource. */
  count(storageKey: string): number {
    return this.#shelves.get(storageKey)?.keys.length ?? 0;
  }

  /** All objects of a resource, or those of one namespace. */
  list(storageKey: string, namespace?: string): Listing {
    this.#writeDeferred(storageKey);
    const shelf = this.#shelves.get(storageKey);
    if (shelf === undefined) return { objects: [], revision: this.#revision };
    const keys = namespace === undefined ? shelf.keys : keysOf(shelf.keys, namespace);
    return {
      objects: keys.map((key) => shelf.objects.get(key) as KubeObject),
      revision: this.#revision,
    };
  }

  /** The list as it was at `revision`; undefined if that is no longer kept. */
  listAt(storageKey: string, namespace: string | undefined, revision: number): Listing | undefined {
    this.#writeDeferred(storageKey);
    const shelf = this.#shelves.get(storageKey);
    if (shelf === undefined) return { objects: [], revision };
    const newer = eventsAfter(shelf, revision);
    if (newer === undefined) return undefined;
    if (newer.length === 0) return { objects: this.list(storageKey, namespace).objects, revision };
    const objects = new Map(shelf.objects);
    for (const event of newer.toReversed()) {
      if (event.previous === undefined) objects.delete(event.key);
      else objects.set(event.key, event.previous);
    }
    const keys = [...objects.keys()].sort();
    const wanted = namespace === undefined ? keys : keysOf(keys, namespace);
    return { objects: wanted.map((key) => objects.get(key) as KubeObject), revision };
  }

  /**
   * Writes an object; returns it frozen, with its new resourceVersion. Throws ApiError when it is too large. `reserved`:
   * the version of a deferred write.
   */
  put(storageKey: string, object: KubeObject, reserved?: number): KubeObject {
    this.#writeDeferred(storageKey);
    const shelf = this.#shelf(storageKey);
    const { namespace, name } = object.metadata;
    const key = storeKey(namespace, name);
    const previous = shelf.objects.get(key);
    const revision = reserved ?? this.#revision + 1;
    const stored = {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(revision) },
    };
    const bytes = freezeCounting(stored);
    shelf.sizes.set(key, checkStorable(stored, bytes + (shelf.sizes.get(key) ?? 0)));
    this.#revision = Math.max(this.#revision, revision);
    shelf.objects.set(key, stored);
    if (previous === undefined) shelf.keys.splice(lowerBound(shelf.keys, key), 0, key);
    const type = previous === undefined ? "ADDED" : "MODIFIED";
    this.#publish(shelf, { type, revision, storageKey, key, object: stored, previous, bytes });
    return stored;
  }

  /**
   * Removes an object; returns its last state at the version of the removal. If `last` is given, it replaces
   * that state.
   */
  remove(
    storageKey: string,
    namespace: string | undefined,
    name: string,
    last?: KubeObject,
  ): KubeObject | undefined {
    this.#writeDeferred(storageKey);
    const shelf = this.#shelves.get(storageKey);
    const key = storeKey(namespace, name);
    const previous = shelf?.objects.get(key);
    if (shelf === undefined || previous === undefined) return undefined;
    const revision = ++this.#revision;
    const base = last ?? previous;
    const object = {
      ...base,
      metadata: { ...base.metadata, resourceVersion: String(revision) },
    };
    const bytes = freezeCounting(object);
    shelf.objects.delete(key);
    shelf.sizes.delete(key);
    shelf.keys.splice(lowerBound(shelf.keys, key), 1);
    this.#publish(shelf, { type: "DELETED", revision, storageKey, key, object, previous, bytes });
    return object;
  }

  /** Writes after `revision`, oldest first; undefined if some are no longer kept. */
  since(storageKey: string, revision: number): readonly StoreEvent[] | undefined {
    this.#writeDeferred(storageKey);
    const shelf = this.#shelves.get(storageKey);
    return shelf === undefined ? [] : eventsAfter(shelf, revision);
  }

  /** Drops the history, as a compaction of etcd does. */
  forget(): void {
    for (const shelf of this.#shelves.values()) {
      this.#forgetOldest(shelf, shelf.history.length);
      shelf.forgotten = this.#revision;
    }
  }

  /** The oldest version from which a watch of this resource can start. */
  oldestRevision(storageKey: string): number {
    return this.#shelves.get(storageKey)?.forgotten ?? 0;
  }

  /** Calls `listener` with each later write of one resource. Returns a function that stops this. */
  subscribe(storageKey: string, listener: (event: StoreEvent) => void): () => void {
    const { listeners } = this.#shelf(storageKey);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Calls `listener` with each later write of any resource. Returns a function that stops this. */
  subscribeAll(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resources that have or had objects, sorted. */
  storageKeys(): readonly string[] {
    return [...this.#shelves.keys()].sort();
  }

  #writeDeferred(storageKey: string): void {
    this.#deferred.get(storageKey)?.();
  }

  #shelf(storageKey: string): Shelf {
    let shelf = this.#shelves.get(storageKey);
    if (shelf === undefined) {
      shelf = new Shelf();
      this.#shelves.set(storageKey, shelf);
    }
    return shelf;
  }

  /** Drops the older half of one history: of the resource whose history takes the most memory. */
  #forgetMost(): void {
    const shelf = mostRemembered(this.#shelves.values());
    if (shelf === undefined) return;
    const kept = shelf.historyBytes / 2;
    let left = shelf.historyBytes;
    let count = 0;
    while (left > kept) left -= (shelf.history[count++] as StoreEvent).bytes + EVENT_BYTES;
    this.#forgetOldest(shelf, count);
  }

  #forgetOldest(shelf: Shelf, count: number): void {
    let bytes = 0;
    for (const event of shelf.history.slice(0, count)) {
      bytes += event.bytes + EVENT_BYTES;
      shelf.forgotten = event.revision;
    }
    shelf.history = shelf.history.slice(count);
    shelf.historyBytes -= bytes;
    this.#historyBytes -= bytes;
  }

  #publish(shelf: Shelf, event: StoreEvent): void {
    shelf.history.push(event);
    shelf.historyBytes += event.bytes + EVENT_BYTES;
    this.#historyBytes += event.bytes + EVENT_BYTES;
    // The history is cut rarely and by much, so that a write takes constant time on average.
    if (shelf.history.length >= 2 * this.#historyLimit)
      this.#forgetOldest(shelf, shelf.history.length - this.#historyLimit);
    if (this.#historyBytes > this.#historyLimitBytes) this.#forgetMost();
    this.#unheard.push(event);
    if (this.#isTelling) return;
    // A listener may write. All listeners still get the first write before the second.
    this.#isTelling = true;
    try {
      for (let next = this.#unheard.shift(); next !== undefined; next = this.#unheard.shift()) {
        for (const listener of this.#shelf(next.storageKey).listeners) listener(next);
        for (const listener of this.#listeners) listener(next);
      }
    } finally {
      this.#isTelling = false;
    }
  }
}

function mostRemembered(shelves: Iterable<Shelf>): Shelf | undefined {
  let most: Shelf | undefined;
  for (const shelf of shelves) if (shelf.historyBytes > (most?.historyBytes ?? 0)) most = shelf;
  return most;
}

function eventsAfter(shelf: Shelf, revision: number): readonly StoreEvent[] | undefined {
  if (revision < shelf.forgotten) return undefined;
  const { history } = shelf;
  const isOld = (at: number) => (history[at] as StoreEvent).revision <= revision;
  return history.slice(firstNotBelow(history.length, isOld));
}

function lowerBound(keys: readonly string[], key: string): number {
  return firstNotBelow(keys.length, (at) => (keys[at] as string) < key);
}

/** The part of the sorted keys that belongs to one namespace ("0" follows "/" in ASCII). */
function keysOf(keys: readonly string[], namespace: string): readonly string[] {
  return keys.slice(lowerBound(keys, `${namespace}/`), lowerBound(keys, `${namespace}0`));
}
