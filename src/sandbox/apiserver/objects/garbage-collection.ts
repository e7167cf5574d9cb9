/**
 * The garbage collector. It deletes objects whose last owner is gone. An owner that is deleted in the foreground waits
 * for the objects that block it. Writes to the store trigger it, and an index by owner UID keeps each step small.
 * upstream: kubernetes pkg/controller/garbagecollector
 */

import type { KubeObject, OwnerReference } from "../../../apis/meta.ts";
import type { Logger } from "../../../base/log.ts";
import { mustNotFail } from "../../../base/must-not-fail.ts";
import type { Engine } from "../engine.ts";
import { callOn, storageDefinition } from "../request/internal-call.ts";
import type { StoreEvent } from "../store/store.ts";
import { deleteObject, FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from "./delete.ts";
import { writeOwned } from "./direct-write.ts";

/** Milliseconds from a write until its consequences are handled. */
const REACTION_MS = 50;
/** Milliseconds until an object whose handling failed is tried again. */
const RETRY_MS = 1_000;
const CONTROLLER = "generic-garbage-collector";

/** Where an object is. The collector stores only this and reads the object itself from the store. */
interface Place {
  readonly storageKey: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

/** Starts the collector. Returns a function that stops it. */
export function collectGarbage(engine: Engine, log: Logger): () => void {
  const collector = new Collector(engine, log);
  return collector.start();
}

class Collector {
  readonly #engine: Engine;
  readonly #log: Logger;
  readonly #places = new Map<string, Place>();
  /** The UIDs of the dependents of each owner, by the owner's UID. */
  readonly #dependents = new Map<string, Set<string>>();
  /** UIDs to handle, each once, in order of arrival. */
  readonly #due = new Set<string>();
  #isScheduled = false;
  #isClosed = false;

  constructor(engine: Engine, log: Logger) {
    this.#engine = engine;
    this.#log = log;
  }

  start(): () => void {
    const stop = this.#engine.store.subscribeAll((event) => this.#take(event));
    return () => {
      this.#isClosed = true;
      stop();
    };
  }

  #take(event: StoreEvent): void {
    const { metadata } = event.object;
    const uid = metadata.uid ?? "";
    const owners = metadata.ownerReferences;
    if (event.type === "DELETED") {
      this.#forget(uid, event);
      return;
    }
    if (event.type === "ADDED") {
      const { name, namespace } = metadata;
      this.#places.set(uid, { storageKey: event.storageKey, namespace, name, uid });
    }
    const before = event.previous?.metadata.ownerReferences;
    if (owners !== before) {
      for (const owner of before ?? []) {
        this.#dependents.get(owner.uid)?.delete(uid);
        this.#enqueueIfWaiting(owner.uid);
      }
      for (const owner of owners ?? []) this.#dependentsOf(owner.uid).add(uid);
      if ((owners ?? []).some((owner) => !this.#places.has(owner.uid))) this.#enqueue(uid);
    }
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).some(isOurs)) {
      this.#enqueue(uid);
      for (const dependent of this.#dependents.get(uid) ?? []) this.#enqueue(dependent);
    }
  }

  #forget(uid: string, event: StoreEvent): void {
    this.#places.delete(uid);
    for (const owner of event.object.metadata.ownerReferences ?? []) {
      this.#dependents.get(owner.uid)?.delete(uid);
      // An owner that is deleted in the foreground may have waited for this object.
      this.#enqueueIfWaiting(owner.uid);
    }
    for (const dependent of this.#dependents.get(uid) ?? []) this.#enqueue(dependent);
    if (this.#dependents.get(uid)?.size === 0) this.#dependents.delete(uid);
  }

  #enqueueIfWaiting(uid: string): void {
    if (this.#read(uid)?.metadata.deletionTimestamp !== undefined) this.#enqueue(uid);
  }

  #dependentsOf(uid: string): Set<string> {
    let set = this.#dependents.get(uid);
    if (set === undefined) {
      set = new Set();
      this.#dependents.set(uid, set);
    }
    return set;
  }

  #enqueue(uid: string, delayMs = REACTION_MS): void {
    this.#due.add(uid);
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    this.#engine.clock.after(delayMs, () => mustNotFail(this.#drain(), "garbage collection"));
  }

  async #drain(): Promise<void> {
    const batch = [...this.#due];
    this.#due.clear();
    const failed: string[] = [];
    for (const uid of batch) {
      if (this.#isClosed) return;
      try {
        await this.#handle(uid);
      } catch (error) {
        failed.push(uid);
        this.#log.warn("garbage collection failed, retrying", { uid, error: String(error) });
      }
    }
    this.#isScheduled = false;
    for (const uid of failed) this.#due.add(uid);
    const [first] = this.#due;
    if (first !== undefined) this.#enqueue(first, failed.length > 0 ? RETRY_MS : REACTION_MS);
  }

  #read(uid: string): KubeObject | undefined {
    const place = this.#places.get(uid);
    if (place === undefined) return undefined;
    return this.#engine.store.get(place.storageKey, place.namespace, place.name);
  }

  async #handle(uid: string): Promise<void> {
    const object = this.#read(uid);
    if (object === undefined) return;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined) {
      if (finalizers.includes(ORPHAN_FINALIZER)) return this.#orphan(uid, object);
      if (finalizers.includes(FOREGROUND_FINALIZER)) return this.#finishForeground(uid, object);
      return;
    }
    await this.#judge(uid, object);
  }

  /** Deletes an object without a remaining owner; otherwise removes the references to owners that are gone. */
  async #judge(uid: string, object: KubeObject): Promise<void> {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const solid: OwnerReference[] = [];
    let isAwaited = false;
    for (const owner of owners) {
      const found = this.#owner(owner, object);
      if (found === undefined) continue;
      const { deletionTimestamp, finalizers = [] } = found.metadata;
      const isForeground =
        deletionTimestamp !== undefined && finalizers.includes(FOREGROUND_FINALIZER);
      if (isForeground) isAwaited = true;
      else solid.push(owner);
    }
    if (solid.length === owners.length) return;
    if (solid.length > 0) return this.#write(uid, withOwners(object, solid), object);
    const place = this.#places.get(uid) as Place;
    const definition = storageDefinition(this.#engine, place.storageKey);
    if (definition === undefined) return;
    const ownsMore = (this.#dependents.get(uid)?.size ?? 0) > 0;
    const { namespace, name } = object.metadata;
    await deleteObject(callOn(this.#engine, definition, object, CONTROLLER), namespace, name, {
      preconditions: { uid },
      propagationPolicy: isAwaited && ownsMore ? "Foreground" : "Background",
    });
  }

  /**
   * The owner to which the reference points. Undefined if it is gone or is in another namespace than the
   * dependent.
   */
  #owner(reference: OwnerReference, dependent: KubeObject): KubeObject | undefined {
    const owner = this.#read(reference.uid);
    if (owner === undefined) return undefined;
    const { namespace } = owner.metadata;
    return namespace === undefined || namespace === dependent.metadata.namespace
      ? owner
      : undefined;
  }

  #orphan(uid: string, object: KubeObject): void {
    for (const dependentUid of [...(this.#dependents.get(uid) ?? [])].sort()) {
      const dependent = this.#read(dependentUid);
      if (dependent === undefined) continue;
      const owners = (dependent.metadata.ownerReferences ?? []).filter(
        (owner) => owner.uid !== uid,
      );
      this.#write(dependentUid, withOwners(dependent, owners), dependent);
    }
    this.#write(uid, withoutFinalizer(object, ORPHAN_FINALIZER), object);
  }

  #finishForeground(uid: string, object: KubeObject): void {
    for (const dependentUid of this.#dependents.get(uid) ?? []) {
      const owners = this.#read(dependentUid)?.metadata.ownerReferences ?? [];
      const blocks = owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);
      if (blocks) return;
    }
    this.#write(uid, withoutFinalizer(object, FOREGROUND_FINALIZER), object);
  }

  #write(uid: string, next: KubeObject, current: KubeObject): void {
    const place = this.#places.get(uid);
    if (place === undefined) return;
    const definition = storageDefinition(this.#engine, place.storageKey);
    if (definition === undefined) return;
    writeOwned(callOn(this.#engine, definition, current, CONTROLLER), current, next);
  }
}

function isOurs(finalizer: string): boolean {
  return finalizer === FOREGROUND_FINALIZER || finalizer === ORPHAN_FINALIZER;
}

function withOwners(object: KubeObject, owners: readonly OwnerReference[]): KubeObject {
  const { ownerReferences: _old, ...metadata } = object.metadata;
  return {
    ...object,
    metadata: owners.length === 0 ? metadata : { ...metadata, ownerReferences: owners },
  };
}

/** The object without one finalizer; the list disappears with its last item. */
export function withoutFinalizer(object: KubeObject, finalizer: string): KubeObject {
  const { finalizers = [], ...metadata } = object.metadata;
  const left = finalizers.filter((one) => one !== finalizer);
  return { ...object, metadata: left.length === 0 ? metadata : { ...metadata, finalizers: left } };
}
