/**
 * The objects of the fake API server, by kind and key, with one growing version, finalizers that delay
 * deletion, and listeners for changes.
 */
import { apiVersionOf, type Kind, type KubeObject, keyOf } from "../apis/meta.ts";
import { type Clock, toRfc3339 } from "../base/clock.ts";
import { applyMergePatch, clone, deepEqual, deepFreeze } from "../base/json.ts";
import type { ObjectRef, WatchEvent } from "../kube/client/client.ts";
import { KubeError } from "../kube/errors.ts";

/** An object with spec and status. */
export type Stored = KubeObject & { spec?: unknown; status?: unknown };

/** Throws the error that the client throws for this status. */
export function refuse(status: number, reason: string, message: string, name?: string): never {
  const details = name === undefined ? {} : { details: { name } };
  throw new KubeError(status, { code: status, reason, message, ...details }, "fake");
}

/** `namespace/name`, or the name alone. */
export function refKey({ namespace, name }: ObjectRef): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The objects of a FakeKube. */
export class FakeStore {
  /** The calls in order: `delete nodes/x`, and those that the client adds. */
  readonly journal: string[] = [];
  readonly #clock: Clock;
  readonly #objects = new Map<string, Map<string, Stored>>();
  readonly #hearers = new Set<{ plural: string; push: (event: WatchEvent) => void }>();
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get version(): string {
    return String(this.#version);
  }

  /** The objects of a kind, by key. */
  of(kind: Kind): Map<string, Stored> {
    const name = `${kind.group}/${kind.plural}`;
    const found = this.#objects.get(name) ?? new Map<string, Stored>();
    this.#objects.set(name, found);
    return found;
  }

  need(kind: Kind, ref: ObjectRef): Stored {
    const found = this.of(kind).get(refKey(ref));
    return found ?? refuse(404, "NotFound", `${kind.plural} "${refKey(ref)}" not found`, ref.name);
  }

  /** Calls `push` for each later change of the kind. Returns a function that stops this. */
  hear(kind: Kind, push: (event: WatchEvent) => void): () => void {
    const hearer = { plural: `${kind.group}/${kind.plural}`, push };
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  put(kind: Kind, before: Stored | undefined, value: Stored): Stored {
    if (before !== undefined && deepEqual(before, value)) return before;
    const changed = before === undefined || !deepEqual(before.spec, value.spec);
    const metadata = {
      ...value.metadata,
      resourceVersion: String(++this.#version),
      generation: (before?.metadata.generation ?? 0) + (changed ? 1 : 0),
    };
    const after = deepFreeze({ ...value, metadata });
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
      this.of(kind).delete(keyOf(after));
      this.#tell(kind, "DELETED", after);
      return after;
    }
    this.of(kind).set(keyOf(after), after);
    this.#tell(kind, before === undefined ? "ADDED" : "MODIFIED", after);
    return after;
  }

  create(kind: Kind, object: Stored): Stored {
    const { generateName } = object.metadata;
    const name = object.metadata.name ?? `${generateName}${this.version.padStart(5, "0")}`;
    if (this.of(kind).has(keyOf({ metadata: { ...object.metadata, name } })))
      refuse(409, "AlreadyExists", `${kind.plural} "${name}" already exists`);
    const head = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const metadata = {
      uid: `uid-${this.#version + 1}`,
      creationTimestamp: toRfc3339(this.#clock.now()),
      ...object.metadata,
      name,
    };
    return this.put(kind, undefined, { ...head, ...clone(object), metadata });
  }

  patch(kind: Kind, ref: ObjectRef, body: unknown, subresource?: string): Stored {
    const before = this.need(kind, ref);
    const wanted = (body as Partial<Stored>).metadata?.resourceVersion;
    if (wanted !== undefined && wanted !== before.metadata.resourceVersion)
      refuse(409, "Conflict", `${kind.plural} "${refKey(ref)}" has changed`);
    const merged = applyMergePatch(before, body) as Stored;
    // Tests write pods and nodes as a whole. For all other kinds, status is a subresource.
    const after =
      subresource === "status"
        ? { ...before, status: merged.status }
        : { ...merged, ...(before.status === undefined ? {} : { status: before.status }) };
    return this.put(kind, before, after);
  }

  /** Marks an object as deleted. Removes it at once if it has no finalizer. */
  remove(kind: Kind, ref: ObjectRef, uid?: string): void {
    const found = this.need(kind, ref);
    if (uid !== undefined && uid !== found.metadata.uid) refuse(409, "Conflict", "uid differs");
    if (found.metadata.deletionTimestamp !== undefined) return;
    this.journal.push(`delete ${kind.plural}/${refKey(ref)}`);
    const metadata = { ...found.metadata, deletionTimestamp: toRfc3339(this.#clock.now()) };
    this.put(kind, found, { ...found, metadata });
  }

  /** Removes an object at once, even if it has finalizers. */
  vanish(kind: Kind, key: string): void {
    const found = this.of(kind).get(key);
    this.of(kind).delete(key);
    if (found === undefined) return;
    const metadata = { ...found.metadata, resourceVersion: String(++this.#version) };
    this.#tell(kind, "DELETED", { ...found, metadata });
  }

  #tell(kind: Kind, type: "ADDED" | "MODIFIED" | "DELETED", object: Stored): void {
    for (const { plural, push } of this.#hearers)
      if (plural === `${kind.group}/${kind.plural}`) push({ type, object });
  }
}
