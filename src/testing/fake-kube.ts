/**
 * A tiny API server in memory for controller tests: objects by kind and key, merge patches, status kept
 * apart, finalizers, deletion, evictions that a test may forbid, and watches. No schema, no garbage
 * collection, no admission: the sandbox has those.
 */
import { POD } from "../apis/core/pod.ts";
import { apiVersionOf, type Kind, type KubeObject, keyOf } from "../apis/meta.ts";
import { type Clock, toRfc3339 } from "../base/clock.ts";
import { applyMergePatch, clone, deepEqual, deepFreeze } from "../base/json.ts";
import type { KubeClient, ObjectRef, Watch, WatchEvent } from "../kube/client.ts";
import { KubeError } from "../kube/errors.ts";

const BOOKMARK_MS = 60_000;

type Stored = KubeObject & { spec?: unknown; status?: unknown };

export interface FakeKube extends KubeClient {
  /** All objects of a kind by key. */
  all<T extends KubeObject>(kind: Kind<T>): readonly T[];
  find<T extends KubeObject>(kind: Kind<T>, key: string): T | undefined;
  /** Writes any field, as another client would. */
  change<T extends KubeObject>(kind: Kind<T>, key: string, patch: unknown): T;
  /** Removes at once, whatever the finalizers. */
  vanish(kind: Kind, key: string): void;
  /** Keys of pods whose eviction is refused with 429. */
  readonly guarded: Set<string>;
  /** Keys of objects whose deletion meets a server that is away (503). */
  readonly undeletable: Set<string>;
  /** `evict default/a`, `delete nodes/x`, in order. */
  readonly journal: string[];
}

export function fakeKube(clock: Clock): FakeKube {
  const store = new Map<string, Map<string, Stored>>();
  const watchers = new Set<{ plural: string; push: (event: WatchEvent) => void }>();
  const guarded = new Set<string>();
  const undeletable = new Set<string>();
  const journal: string[] = [];
  let version = 0;

  const of = (kind: Kind): Map<string, Stored> => {
    const name = `${kind.group}/${kind.plural}`;
    const found = store.get(name) ?? new Map<string, Stored>();
    store.set(name, found);
    return found;
  };
  const refuse = (status: number, reason: string, message: string): never => {
    throw new KubeError(status, { code: status, reason, message }, "fake");
  };
  const key = (ref: ObjectRef): string =>
    ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
  const need = (kind: Kind, ref: ObjectRef): Stored =>
    of(kind).get(key(ref)) ?? refuse(404, "NotFound", `${kind.plural} "${key(ref)}" not found`);
  const tell = (kind: Kind, type: "ADDED" | "MODIFIED" | "DELETED", object: Stored): void => {
    for (const one of watchers)
      if (one.plural === `${kind.group}/${kind.plural}`) one.push({ type, object });
  };
  const put = (kind: Kind, before: Stored | undefined, value: Stored): Stored => {
    if (before !== undefined && deepEqual(before, value)) return before;
    const changed = before === undefined || !deepEqual(before.spec, value.spec);
    const metadata = {
      ...value.metadata,
      resourceVersion: String(++version),
      generation: (before?.metadata.generation ?? 0) + (changed ? 1 : 0),
    };
    const after = deepFreeze({ ...value, metadata });
    if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0) {
      of(kind).delete(keyOf(after));
      tell(kind, "DELETED", after);
      return after;
    }
    of(kind).set(keyOf(after), after);
    tell(kind, before === undefined ? "ADDED" : "MODIFIED", after);
    return after;
  };
  const create = (kind: Kind, object: Stored): Stored => {
    const { generateName } = object.metadata;
    const name = object.metadata.name ?? `${generateName}${String(version).padStart(5, "0")}`;
    if (of(kind).has(keyOf({ metadata: { ...object.metadata, name } })))
      refuse(409, "AlreadyExists", `${kind.plural} "${name}" already exists`);
    const head = { apiVersion: apiVersionOf(kind), kind: kind.kind };
    const metadata = {
      uid: `uid-${version + 1}`,
      creationTimestamp: toRfc3339(clock.now()),
      ...object.metadata,
      name,
    };
    return put(kind, undefined, { ...head, ...clone(object), metadata });
  };
  const remove = (kind: Kind, ref: ObjectRef, uid?: string): void => {
    const found = need(kind, ref);
    if (uid !== undefined && uid !== found.metadata.uid) refuse(409, "Conflict", "uid differs");
    if (found.metadata.deletionTimestamp !== undefined) return;
    journal.push(`delete ${kind.plural}/${key(ref)}`);
    const metadata = { ...found.metadata, deletionTimestamp: toRfc3339(clock.now()) };
    put(kind, found, { ...found, metadata });
  };
  const patch = (kind: Kind, ref: ObjectRef, body: unknown, subresource?: string): Stored => {
    const before = need(kind, ref);
    const wanted = (body as Partial<Stored>).metadata?.resourceVersion;
    if (wanted !== undefined && wanted !== before.metadata.resourceVersion)
      refuse(409, "Conflict", `${kind.plural} "${key(ref)}" has changed`);
    const merged = applyMergePatch(before, body) as Stored;
    // Pods and nodes of the tests are written whole; status is a subresource of everything else.
    const after =
      subresource === "status"
        ? { ...before, status: merged.status }
        : { ...merged, ...(before.status === undefined ? {} : { status: before.status }) };
    return put(kind, before, after);
  };

  return {
    guarded,
    undeletable,
    journal,
    all: (kind) => [...of(kind as Kind).keys()].sort().map((k) => of(kind as Kind).get(k) as never),
    find: (kind, k) => of(kind as Kind).get(k) as never,
    change: (kind, k, body) => {
      const before = of(kind as Kind).get(k) ?? refuse(404, "NotFound", k);
      return put(kind as Kind, before, applyMergePatch(before, body) as Stored) as never;
    },
    vanish: (kind, k) => {
      const found = of(kind).get(k);
      of(kind).delete(k);
      if (found === undefined) return;
      const metadata = { ...found.metadata, resourceVersion: String(++version) };
      tell(kind, "DELETED", { ...found, metadata });
    },
    get: async (kind, ref) => need(kind as Kind, ref) as never,
    list: async (kind) => ({
      items: [...of(kind as Kind).values()] as never[],
      resourceVersion: String(version),
    }),
    watch: async (kind) => watch(`${kind.group}/${kind.plural}`, watchers, clock) as never,
    create: async (kind, object) => create(kind as Kind, object) as never,
    update: async (kind, object) => {
      const ref = object.metadata;
      return put(kind as Kind, need(kind as Kind, ref), object as Stored) as never;
    },
    updateStatus: async (kind, object) =>
      patch(
        kind as Kind,
        object.metadata,
        { status: (object as Stored).status },
        "status",
      ) as never,
    patch: async (kind, ref, change, subresource) => {
      if (change.type !== "merge") throw new Error(`fake kube: no ${change.type} patches`);
      return patch(kind as Kind, ref, change.body, subresource) as never;
    },
    delete: async (kind, ref, options) => {
      if (undeletable.has(key(ref))) refuse(503, "ServiceUnavailable", "the server is away");
      remove(kind as Kind, ref, options?.preconditions?.uid);
    },
    evict: async (pod) => {
      journal.push(`evict ${key(pod)}`);
      if (guarded.has(key(pod))) refuse(429, "TooManyRequests", "Cannot evict pod");
      remove(POD as Kind, pod);
    },
    bind: async (pod, nodeName) => {
      patch(POD as Kind, pod, { spec: { nodeName } });
    },
    raw: async () => refuse(405, "MethodNotAllowed", "fake kube has no raw requests"),
  };
}

function watch(
  plural: string,
  watchers: Set<{ plural: string; push: (event: WatchEvent) => void }>,
  clock: Clock,
): Watch<KubeObject> {
  const waiting: WatchEvent[] = [];
  let wake: (() => void) | undefined;
  let closed = false;
  const entry = {
    plural,
    push: (event: WatchEvent) => {
      waiting.push(event);
      wake?.();
    },
  };
  watchers.add(entry);
  // As servers do: who hears nothing takes the stream for dead.
  const mark = (): void => {
    entry.push({ type: "BOOKMARK", object: { metadata: { name: "" } } });
    timer = clock.after(BOOKMARK_MS, mark);
  };
  let timer = clock.after(BOOKMARK_MS, mark);
  return {
    close: () => {
      closed = true;
      timer.cancel();
      watchers.delete(entry);
      wake?.();
    },
    async *[Symbol.asyncIterator]() {
      while (!closed) {
        const next = waiting.shift();
        if (next !== undefined) {
          yield next;
          continue;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
