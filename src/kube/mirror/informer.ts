/**
 * The mirror of one kind. It receives lists, watch events and the answers to this process's own writes. Its handlers
 * are called for each object that was added, updated or removed. The newer resourceVersion wins. An object that the
 * watch removed is not restored by a late answer.
 */
import { type Kind, type KubeObject, keyOf, versionOf } from "../../apis/meta.ts";
import { deepFreeze } from "../../base/json.ts";
import { atOnce, eachInSteps, filterInSteps, type Steps, sortInSteps } from "../../base/steps.ts";
import type { KubeList, WatchEvent } from "../client/client.ts";
import type { Copy } from "./check-copy.ts";
import type { Feed, Mirror, MirrorHandler, MirrorOptions } from "./mirror.ts";
import { placeOf, SortedKeys } from "./sorted-keys.ts";

/** Number of objects in one step. Storing one, or passing it to a handler, takes some microseconds. */
const OBJECTS_PER_STEP = 64;
/** Number of keys in one step of work that only looks them up. */
const KEYS_PER_STEP = 4_096;

/** The mirror that a watch fills. */
export class Informer<T extends KubeObject> implements Mirror<T>, Copy<T> {
  readonly kind: Kind<T>;
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #handlers = new Set<MirrorHandler<T>>();
  readonly #project: (object: T) => T;
  readonly #partial: boolean;
  readonly #onFailure: (error: unknown) => void;
  #synced = false;
  #newestSeen = 0;
  /** The keys in order. They need no new sorting while objects change but are neither added nor removed. */
  readonly #keys = new SortedKeys();
  #list: readonly T[] | undefined;

  /** `onFailure`: called when a handler throws. The other handlers still receive the change. */
  constructor(
    kind: Kind<T>,
    options: MirrorOptions<T>,
    onFailure: (error: unknown) => void = (error) => {
      throw error;
    },
  ) {
    this.kind = kind;
    this.#onFailure = onFailure;
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
    this.#list ??= this.#keys.all().map((key) => this.#objects.get(key) as T);
    return this.#list;
  }

  each(): readonly T[] {
    return [...this.#objects.values()];
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

  onInSteps(handler: MirrorHandler<T>): Feed {
    let stop = () => undefined as unknown;
    let stopped = false;
    const feeding = function* (this: Informer<T>): Steps<void> {
      yield* this.#keys.ready();
      const keys = this.#keys.all();
      let fed = -1;
      // Objects that the handler has not received yet will be passed in their latest state, so their changes are
      // skipped.
      const isToCome = (object: T) => fed < keys.length && placeOf(keys, keyOf(object)) > fed;
      const unlessToCome: MirrorHandler<T> = (event, object, before) => {
        if (!isToCome(object)) handler(event, object, before);
      };
      if (stopped) return;
      this.#handlers.add(unlessToCome);
      stop = () => this.#handlers.delete(unlessToCome);
      yield* eachInSteps(keys, OBJECTS_PER_STEP, (key, index) => {
        const object = stopped ? undefined : this.#objects.get(key);
        fed = index;
        if (object !== undefined) handler("added", object, undefined);
      });
      fed = keys.length;
    };
    const end = () => {
      stopped = true;
      stop();
    };
    return { feeding: feeding.call(this), stop: end };
  }

  /**
   * Replaces the content by a list. Objects that the list lacks are removed, except for own writes after the list's
   * version.
   */
  replace(list: KubeList<T>): void {
    atOnce(this.replaceInSteps(list));
  }

  /**
   * Like {@link replace}, in steps. Own writes may happen in between. `isRestored`: the server's store was set back, so
   * objects become as the list has them, also where known ones have higher versions. Otherwise a pod that was bound
   * before a restore, and waits after it, would count as bound for days.
   */
  *replaceInSteps({ items, resourceVersion, kept }: KubeList<T>, isRestored = false): Steps<void> {
    yield* this.#removeOthers({ items, resourceVersion });
    if (isRestored) this.#newestSeen = versionOf({ resourceVersion });
    yield* eachInSteps(items, OBJECTS_PER_STEP, (item) => {
      if (isRestored) this.#takeBack(item);
      this.#put(item, kept);
    });
    this.#see(resourceVersion);
    this.#synced = true;
  }

  /**
   * The version up to which the list has every object; own writes may be newer. A list without a version counts as
   * complete. So does one that is older than earlier data, because then the server's store was set back.
   */
  #coveredBy(resourceVersion: string): number {
    const version = versionOf({ resourceVersion });
    return version === 0 || version < this.#newestSeen ? Number.POSITIVE_INFINITY : version;
  }

  *#removeOthers(list: KubeList<T>): Steps<void> {
    const gone = yield* this.removedBy(list);
    yield* eachInSteps(gone, OBJECTS_PER_STEP, (object) => {
      const key = keyOf(object);
      // An own write between two steps is newer than the list. If its object is deleted, the watch will deliver that.
      if (this.#objects.get(key) === object) this.#remove(key);
    });
    yield;
  }

  /**
   * Removes the deleted object. An older object of this name is gone, too, if events in between were left out
   * (latest-events.ts): the object of the deletion was created after it.
   */
  #takeDeletion(deleted: T): void {
    const key = keyOf(deleted);
    const known = this.#objects.get(key);
    const isSame = known?.metadata.uid === deleted.metadata.uid;
    if (known !== undefined && (isSame || versionOf(known.metadata) < versionOf(deleted.metadata)))
      this.#remove(key);
  }

  /** Reduces an object to the fields that are kept. */
  keep(object: T): T {
    return deepFreeze(this.#project(object));
  }

  lacks(object: T, upTo: number): boolean {
    const known = this.#objects.get(keyOf(object));
    if (known === undefined) return true;
    return (
      versionOf(known.metadata) !== versionOf(object.metadata) && versionOf(known.metadata) <= upTo
    );
  }

  *notIn(items: readonly T[], upTo: number): Steps<readonly T[]> {
    // Objects that own writes add between two steps are not compared: they are newer than the items.
    const known = [...this.#objects];
    if (known.length === 0) return [];
    const listed = new Set<string>();
    yield* eachInSteps(items, KEYS_PER_STEP, (item) => {
      listed.add(keyOf(item));
    });
    const others = yield* filterInSteps(
      known,
      KEYS_PER_STEP,
      ([key, object]) => !listed.has(key) && versionOf(object.metadata) <= upTo,
    );
    const sorted = yield* sortInSteps(others, ([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([, object]) => object);
  }

  *removedBy({ items, resourceVersion }: KubeList<T>): Steps<readonly T[]> {
    return yield* this.notIn(items, this.#coveredBy(resourceVersion));
  }

  heal({ missed, gone }: Parameters<Copy<T>["heal"]>[0], upTo: number): void {
    for (const object of missed) {
      // An event may have told a version that the server does not have.
      if (this.lacks(object, upTo)) this.#takeBack(object);
      this.#put(object, true);
    }
    for (const object of gone) this.#remove(keyOf(object), object.metadata.uid);
  }

  take(event: WatchEvent<T>): void {
    this.#see(event.object.metadata.resourceVersion);
    if (event.type === "DELETED") this.#takeDeletion(event.object);
    else this.#put(event.object, event.projected);
  }

  /** Stores the object in the answer to an own write, before the watch delivers it. */
  observe(object: T): void {
    if (!this.#synced || this.#partial) return;
    const known = this.#objects.has(keyOf(object));
    if (!known && versionOf(object.metadata) <= this.#newestSeen) return;
    this.#put(object);
  }

  #put(incoming: T, projected?: boolean): void {
    const key = keyOf(incoming);
    const before = this.#objects.get(key);
    if (before !== undefined && versionOf(incoming.metadata) <= versionOf(before.metadata)) return;
    if (before !== undefined && before.metadata.uid !== incoming.metadata.uid) {
      // The object was deleted and created again in between. These are two objects, so there are two events.
      this.#remove(key);
      this.#put(incoming, projected);
      return;
    }
    const object = projected === true ? incoming : this.keep(incoming);
    this.#objects.set(key, object);
    if (before === undefined) this.#keys.add(key);
    this.#list = undefined;
    for (const index of this.#indexes.values()) index.move(key, before, object);
    const event = before === undefined ? "added" : "updated";
    this.#tell(event, object, before);
  }

  /**
   * Removes the known object if its version is higher than this one's, which the server has. Handlers then see a new
   * object: the cluster state forgets marks and planned places of such Nodes and claims.
   */
  #takeBack(restored: T): void {
    const key = keyOf(restored);
    const known = this.#objects.get(key);
    if (known !== undefined && versionOf(known.metadata) > versionOf(restored.metadata))
      this.#remove(key);
  }

  #tell(...change: Parameters<MirrorHandler<T>>): void {
    for (const handler of this.#handlers) {
      try {
        handler(...change);
      } catch (error) {
        this.#onFailure(error);
      }
    }
  }

  #remove(key: string, uid?: string): void {
    const before = this.#objects.get(key);
    if (before === undefined) return;
    if (uid !== undefined && before.metadata.uid !== uid) return;
    this.#objects.delete(key);
    this.#keys.remove(key);
    this.#list = undefined;
    for (const index of this.#indexes.values()) index.move(key, before, undefined);
    this.#tell("removed", before, before);
  }

  #see(resourceVersion: string | undefined): void {
    this.#newestSeen = Math.max(this.#newestSeen, versionOf({ resourceVersion }));
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

/** The object without managedFields, which are a third of many objects. No decision reads them. */
function dropManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return Object.freeze({ ...object, metadata: Object.freeze(metadata) });
}
