/**
 * The mirror of one kind: takes in lists, watch events and answers to our own writes, and tells its
 * handlers `{added, updated, removed}`. The newer resourceVersion wins, and what a watch has already
 * removed is not brought back by a late answer.
 */
import type { Kind, KubeObject } from "../../apis/meta.ts";
import { keyOf } from "../../apis/meta.ts";
import { deepFreeze } from "../../base/json.ts";
import type { KubeList, WatchEvent } from "../client/client.ts";
import type { Mirror, MirrorHandler, MirrorOptions } from "./mirror.ts";

export class Informer<T extends KubeObject> implements Mirror<T> {
  readonly kind: Kind<T>;
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #handlers = new Set<MirrorHandler<T>>();
  readonly #project: (object: T) => T;
  readonly #partial: boolean;
  #synced = false;
  #newestSeen = 0;
  /** Sorted; outlives what only changes. */
  #keys: readonly string[] | undefined;
  #list: readonly T[] | undefined;

  constructor(kind: Kind<T>, options: MirrorOptions<T>) {
    this.kind = kind;
    this.#project = options.project ?? dropManagedFields;
    this.#partial = options.fieldSelector !== undefined || options.labelSelector !== undefined;
    for (const [name, valuesOf] of Object.entries(options.indexes ?? {})) {
      this.#indexes.set(name, new Index(valuesOf));
    }
  }

  get synced(): boolean {
    return this.#synced;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    this.#keys ??= [...this.#objects.keys()].sort();
    this.#list ??= this.#keys.map((key) => this.#objects.get(key) as T);
    return this.#list;
  }

  byIndex(index: string, value: string): readonly T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new Error(`mirror of ${this.kind.plural}: no index ${index}`);
    return found.keys(value).map((key) => this.#objects.get(key) as T);
  }

  on(handler: MirrorHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.list()) handler("added", object, undefined);
    return () => this.#handlers.delete(handler);
  }

  /** The whole truth: what it does not name is gone. */
  replace(list: KubeList<T>): void {
    const listed = new Set(list.items.map(keyOf));
    for (const key of [...this.#objects.keys()].sort()) if (!listed.has(key)) this.#remove(key);
    for (const item of list.items) this.#put(item);
    this.#see(list.resourceVersion);
    this.#synced = true;
  }

  take(event: WatchEvent<T>): void {
    this.#see(event.object.metadata.resourceVersion);
    if (event.type === "DELETED") this.#remove(keyOf(event.object), event.object.metadata.uid);
    else this.#put(event.object, event.projected);
  }

  /** The answer to a write of ours: known at once, before the watch brings it. */
  observe(object: T): void {
    if (!this.#synced || this.#partial) return;
    const known = this.#objects.has(keyOf(object));
    if (!known && versionOf(object) <= this.#newestSeen) return;
    this.#put(object);
  }

  #put(incoming: T, projected?: boolean): void {
    const key = keyOf(incoming);
    const before = this.#objects.get(key);
    if (before !== undefined && versionOf(incoming) <= versionOf(before)) return;
    if (before !== undefined && before.metadata.uid !== incoming.metadata.uid) {
      // Deleted and made anew while we looked away: two objects, two events.
      this.#remove(key);
      this.#put(incoming, projected);
      return;
    }
    const object = projected === true ? incoming : deepFreeze(this.#project(incoming));
    this.#objects.set(key, object);
    if (before === undefined) this.#keys = undefined;
    this.#list = undefined;
    for (const index of this.#indexes.values()) index.move(key, before, object);
    const event = before === undefined ? "added" : "updated";
    for (const handler of this.#handlers) handler(event, object, before);
  }

  #remove(key: string, uid?: string): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    if (uid !== undefined && before.metadata.uid !== uid) return;
    this.#objects.delete(key);
    this.#keys = undefined;
    this.#list = undefined;
    for (const index of this.#indexes.values()) index.move(key, before, undefined);
    for (const handler of this.#handlers) handler("removed", before, before);
  }

  #see(resourceVersion: string | undefined): void {
    this.#newestSeen = Math.max(this.#newestSeen, Number(resourceVersion) || 0);
  }
}

class Index<T extends KubeObject> {
  readonly #valuesOf: (object: T) => readonly string[];
  readonly #keysByValue = new Map<string, Set<string>>();

  constructor(valuesOf: (object: T) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  keys(value: string): string[] {
    return [...(this.#keysByValue.get(value) ?? [])].sort();
  }

  move(key: string, before: T | undefined, after: T | undefined): void {
    for (const value of before === undefined ? [] : this.#valuesOf(before)) {
      const keys = this.#keysByValue.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByValue.delete(value);
    }
    for (const value of after === undefined ? [] : this.#valuesOf(after)) {
      let keys = this.#keysByValue.get(value);
      if (keys === undefined) {
        keys = new Set();
        this.#keysByValue.set(value, keys);
      }
      keys.add(key);
    }
  }
}

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion) || 0;
}

/** managedFields are a third of many objects and no decision reads them. */
function dropManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return Object.freeze({ ...object, metadata: Object.freeze(metadata) });
}
