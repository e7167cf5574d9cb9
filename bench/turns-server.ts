/**
 * The API server of `turns.ts`: mirrors of the objects, and a client that writes merge patches into them. Answers
 * arrive some at a time, as from a socket.
 */
import type { Kind, KubeObject } from "../src/apis/meta.ts";
import { keyOf } from "../src/apis/meta.ts";
import type * as Json from "../src/base/json.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import type * as Errors from "../src/kube/errors.ts";
import type { Informer } from "../src/kube/mirror/informer.ts";
import type * as Informers from "../src/kube/mirror/informer.ts";
import type { MirrorOptions } from "../src/kube/mirror/mirror.ts";
import type { LiveMirrors } from "../src/kube/mirror/mirrors.ts";
import { built } from "./consolidation.ts";

const { Informer: Mirror } = await built<typeof Informers>("kube/mirror/informer.js");
const { applyMergePatch } = await built<typeof Json>("base/json.js");
const { KubeError } = await built<typeof Errors>("kube/errors.js");

/** Answers that arrive in one iteration of the event loop. */
const ANSWERS_A_TURN = 16;

export interface Server {
  readonly mirrors: LiveMirrors;
  readonly client: KubeClient;
  /** A change by another writer. */
  change(kind: Kind, key: string, patch: unknown): void;
  readonly writes: () => number;
}

/** Creates the server. `there`: the frozen objects by the plural of their kind. */
export function createServer(there: ReadonlyMap<string, readonly KubeObject[]>): Server {
  const informers = new Map<string, Informer<KubeObject>>();
  let [version, writes] = [1_000, 0];
  const waiting: (() => void)[] = [];

  function of(kind: Kind, options: MirrorOptions<KubeObject> = {}): Informer<KubeObject> {
    const known = informers.get(kind.plural);
    if (known !== undefined) return known;
    const informer = new Mirror(kind, options);
    informers.set(kind.plural, informer);
    informer.replace({ items: there.get(kind.plural) ?? [], resourceVersion: "1", kept: true });
    return informer;
  }

  function put(kind: Kind, key: string, patch: unknown): KubeObject {
    const before = of(kind).get(key);
    if (before === undefined) throw new KubeError(404, undefined, `${kind.plural} ${key}`);
    const after = applyMergePatch(before, patch) as KubeObject;
    const object = { ...after, metadata: { ...after.metadata, resourceVersion: String(++version) } };
    of(kind).take({ type: "MODIFIED", object });
    writes++;
    return of(kind).get(key) as KubeObject;
  }

  /** Makes the answer arrive in a later iteration of the event loop. */
  function answer<T>(act: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      waiting.push(() => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      });
      if (waiting.length === 1) setImmediate(answerSome);
    });
  }

  function answerSome(): void {
    for (const act of waiting.splice(0, ANSWERS_A_TURN)) act();
    if (waiting.length > 0) setImmediate(answerSome);
  }

  const client = {
    get: (kind: Kind, { name }: { name: string }) => answer(() => of(kind).get(name)),
    patch: (kind: Kind, ref: { name: string; namespace?: string }, { body }: { body: unknown }) =>
      answer(() => put(kind, keyOf({ metadata: ref }), body)),
    delete: (kind: Kind, { name }: { name: string }) =>
      answer(() => { put(kind, name, { metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" } }); }),
    create: (_: Kind, object: KubeObject) => answer(() => object),
  } as unknown as KubeClient;
  const synced = async () => undefined;
  const mirrors = { of, client, synced, current: true, behind: () => [] } as unknown as LiveMirrors;
  return { mirrors, client, change: (kind, key, patch) => { put(kind, key, patch); }, writes: () => writes };
}
