/**
 * A small API server in memory for controller tests: merge patches, a separate status, finalizers, deletion,
 * evictions that a test can forbid, and watches. It has no schema, garbage collection or admission; the
 * sandbox has those. fake-store.ts holds the objects.
 */
import { POD } from "../apis/core/pod.ts";
import type { Kind, KubeObject } from "../apis/meta.ts";
import type { Clock } from "../base/clock.ts";
import { applyMergePatch } from "../base/json.ts";
import type { KubeClient, Watch, WatchEvent } from "../kube/client/client.ts";
import { FakeStore, refKey, refuse, type Stored } from "./fake-store.ts";

const BOOKMARK_MS = 60_000;

/** A KubeClient over objects in memory, for tests of controllers. */
export interface FakeKube extends KubeClient {
  /** All objects of a kind by key. */
  all<T extends KubeObject>(kind: Kind<T>): readonly T[];
  find<T extends KubeObject>(kind: Kind<T>, key: string): T | undefined;
  /** Changes any field, as another client would. */
  change<T extends KubeObject>(kind: Kind<T>, key: string, patch: unknown): T;
  /** Removes an object at once, even if it has finalizers. */
  vanish(kind: Kind, key: string): void;
  /** Keys of pods whose eviction is refused with 429. */
  readonly guarded: Set<string>;
  /** Keys of objects whose deletion fails with 503. */
  readonly undeletable: Set<string>;
  /** Keys of objects whose patches fail with 503. */
  readonly unpatchable: Set<string>;
  /** The calls in order, such as `evict default/a` or `delete nodes/x`. */
  readonly journal: string[];
}

/** A client without objects. */
export function fakeKube(clock: Clock): FakeKube {
  const store = new FakeStore(clock);
  const guarded = new Set<string>();
  const undeletable = new Set<string>();
  const unpatchable = new Set<string>();
  const { journal } = store;
  return {
    guarded,
    undeletable,
    unpatchable,
    journal,
    all: (kind) => {
      const objects = store.of(kind as Kind);
      return [...objects.keys()].sort().map((key) => objects.get(key) as never);
    },
    find: (kind, key) => store.of(kind as Kind).get(key) as never,
    change: (kind, key, body) => {
      const before = store.of(kind as Kind).get(key) ?? refuse(404, "NotFound", key);
      return store.put(kind as Kind, before, applyMergePatch(before, body) as Stored) as never;
    },
    vanish: (kind, key) => store.vanish(kind, key),
    get: async (kind, ref) => store.need(kind as Kind, ref) as never,
    list: async (kind, { fieldSelector } = {}) => ({
      items: [...store.of(kind as Kind).values()].filter(selected(fieldSelector)) as never[],
      resourceVersion: store.version,
    }),
    watch: async (kind, { resourceVersion }) =>
      watch(store, { kind: kind as Kind, clock, fromStart: resourceVersion === "" }) as never,
    create: async (kind, object) => store.create(kind as Kind, object) as never,
    update: async (kind, object) => {
      const before = store.need(kind as Kind, object.metadata);
      return store.put(kind as Kind, before, object as Stored) as never;
    },
    updateStatus: async (kind, object) => {
      const { status } = object as Stored;
      return store.patch(kind as Kind, object.metadata, { status }, "status") as never;
    },
    patch: async (kind, ref, change, subresource) => {
      if (unpatchable.has(refKey(ref))) refuse(503, "ServiceUnavailable", "the server is away");
      if (change.type !== "merge") throw new Error(`fake kube: no ${change.type} patches`);
      return store.patch(kind as Kind, ref, change.body, subresource) as never;
    },
    delete: async (kind, ref, options) => {
      if (undeletable.has(refKey(ref))) refuse(503, "ServiceUnavailable", "the server is away");
      store.remove(kind as Kind, ref, options?.preconditions?.uid);
    },
    evict: async (pod) => {
      journal.push(`evict ${refKey(pod)}`);
      if (guarded.has(refKey(pod))) refuse(429, "TooManyRequests", "Cannot evict pod");
      store.remove(POD as Kind, pod);
    },
    bind: async (pod, nodeName) => {
      store.patch(POD as Kind, pod, { spec: { nodeName } });
    },
    raw: async () => refuse(405, "MethodNotAllowed", "fake kube has no raw requests"),
  };
}

/** Supports only the two selectors that the code uses: pods of one node, and objects of one name. */
function selected(selector: string | undefined): (object: Stored) => boolean {
  if (selector === undefined) return () => true;
  const [, field, value] = /^(spec\.nodeName|metadata\.name)=(.+)$/.exec(selector) ?? [];
  if (field === "metadata.name") return ({ metadata }) => metadata.name === value;
  if (field === undefined) refuse(400, "BadRequest", `fake kube: no field selector ${selector}`);
  return ({ spec }) => (spec as { readonly nodeName?: string } | undefined)?.nodeName === value;
}

/** `fromStart`: the watch begins with all objects and a bookmark. */
function watch(
  store: FakeStore,
  { kind, clock, fromStart }: { kind: Kind; clock: Clock; fromStart: boolean },
): Watch<KubeObject> {
  const state = [...store.of(kind).values()].map((object) => ({ type: "ADDED" as const, object }));
  const end = { type: "BOOKMARK" as const, object: { metadata: { name: "" } } };
  const waiting: WatchEvent[] = fromStart ? [...state, end] : [];
  let wake: (() => void) | undefined;
  let closed = false;
  const push = (event: WatchEvent): void => {
    waiting.push(event);
    wake?.();
  };
  const hearNoMore = store.hear(kind, push);
  // Sends bookmarks, because a silent stream would count as dead.
  const mark = (): void => {
    push({ type: "BOOKMARK", object: { metadata: { name: "" } } });
    timer = clock.after(BOOKMARK_MS, mark);
  };
  let timer = clock.after(BOOKMARK_MS, mark);
  return {
    close: () => {
      closed = true;
      timer.cancel();
      hearNoMore();
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
