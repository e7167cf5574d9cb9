/**
 * All mirrors of one process, and a client that puts the answers to own writes into them. So a reconcile sees the
 * writes of an earlier one without waiting for the watch.
 */

import type { Kind, KubeObject } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { isObject } from "../../base/json.ts";
import type { Logger } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { besideOthers } from "../../base/steps.ts";
import type { KubeClient } from "../client/client.ts";
import { Informer } from "./informer.ts";
import type { Freshness, Mirror, MirrorOptions, Mirrors, SetBack, ViewState } from "./mirror.ts";
import { type Reflection, reflect } from "./watch.ts";

/** The dependencies of the mirrors and their watches. */
export interface MirrorsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Whether first lists count as they are, because no machine ends by them. Absent: they are compared with a watch. */
  readonly trustsFirstLists?: boolean;
}

/** One mirror for each kind, created on first use and shared by all controllers. */
export class LiveMirrors implements Mirrors, Freshness {
  readonly #deps: MirrorsDeps;
  readonly #informers = new Map<string, Informer<KubeObject>>();
  /** The watch of each mirror, by id. */
  readonly #loops = new Map<string, Reflection>();
  #waiting: { readonly isSynced: () => boolean; readonly resolve: () => void }[] = [];
  /** State of each mirror, by id. Absent: `behind`. */
  readonly #views = new Map<string, ViewState>();
  /** Kinds whose lists are older than data before them, by id. */
  readonly #setBack = new Map<string, SetBack>();
  readonly #setBackListeners = new Set<() => void>();
  /** Kinds of the vital mirrors that are outdated, by id. */
  readonly #behind = new Map<string, string>();
  /** The group of each kind that the server serves, by the id of the kind. `#unserved`: the ids of the other kinds. */
  readonly #served = new Map<string, string>();
  readonly #unserved = new Set<string>();
  /** A client that puts the server's answers into the mirrors. */
  readonly client: KubeClient;

  constructor(deps: MirrorsDeps) {
    this.#deps = deps;
    this.client = observing(deps.client, (kind, object) => this.#observe(kind, object));
  }

  of<T extends KubeObject>(kind: Kind<T>, options: MirrorOptions<T> = {}): Mirror<T> {
    const id = idOf(kind);
    const known = this.#informers.get(id);
    if (known !== undefined) return known as unknown as Informer<T>;
    const log = this.#deps.log.named("watch");
    const informer = new Informer(kind, options, (error) => {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      log.error("failed taking in a change", { kind: kind.kind, error: text });
    });
    this.#informers.set(id, informer as unknown as Informer<KubeObject>);
    if (options.vital === true) this.#behind.set(id, kind.kind);
    const loop = reflect({
      ...this.#deps,
      log,
      kind,
      fieldSelector: options.fieldSelector,
      labelSelector: options.labelSelector,
      namespace: options.namespace,
      optional: options.optional,
      relaxed: options.vital !== true,
      readFrame: options.readFrame,
      readPage: options.readPage,
      groupIsServed: () => [...this.#served.values()].includes(kind.group),
      keep: (object) => informer.keep(object),
      copy: informer,
      trustsFirstList: this.#deps.trustsFirstLists,
      onList: (list, isRestored) => {
        this.#notice(id, kind, list.resourceVersion !== "");
        // There may be a million objects, so they are added in steps. Otherwise the lease would not be renewed in time.
        const rest = besideOthers(this.#deps.clock, informer.replaceInSteps(list, isRestored));
        if (rest !== undefined) return rest.then(() => this.#wake());
        this.#wake();
        return undefined;
      },
      onEvent: (event) => informer.take(event),
      onState: (state) => {
        if (state === "current")
          for (const other of this.#loops.values()) if (other !== loop) other.retryNow();
        this.#views.set(id, state);
        if (options.vital !== true) return;
        this.#noteSetBack(id, kind, state);
        if (state === "behind") this.#behind.set(id, kind.kind);
        else this.#behind.delete(id);
      },
    });
    this.#loops.set(id, loop);
    return informer;
  }

  /** Resolves when every mirror has its first list, or that of one kind. */
  synced(kind?: Kind): Promise<void> {
    const isSynced = (): boolean =>
      kind === undefined ? this.#allSynced() : this.#informers.get(idOf(kind))?.synced === true;
    if (isSynced()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push({ isSynced, resolve });
    });
  }

  get current(): boolean {
    return this.#behind.size === 0;
  }

  behind(): readonly string[] {
    return [...this.#behind.values()].sort();
  }

  viewOf(kind: Kind): ViewState {
    return this.#views.get(idOf(kind)) ?? "behind";
  }

  doubt(kind: Kind): void {
    this.#loops.get(idOf(kind))?.doubt();
  }

  setBack(): readonly SetBack[] {
    return [...this.#setBack.values()].sort((a, b) => (a.kind < b.kind ? -1 : 1));
  }

  onSetBack(listener: () => void): () => void {
    this.#setBackListeners.add(listener);
    return () => this.#setBackListeners.delete(listener);
  }

  close(): void {
    for (const loop of this.#loops.values()) loop.close();
    this.#loops.clear();
  }

  /**
   * Records whether a kind is served. Kinds of one group are usually installed together, so if one appears, the missing
   * ones are tried again.
   */
  #notice(id: string, { group }: Kind, isServed: boolean): void {
    if (!isServed) {
      this.#served.delete(id);
      this.#unserved.add(id);
      return;
    }
    this.#served.set(id, group);
    if (this.#unserved.delete(id)) for (const loop of this.#loops.values()) loop.lookAgain();
  }

  /** A watch that breaks says nothing about versions, so the state `behind` changes nothing. */
  #noteSetBack(id: string, { kind }: Kind, state: ViewState): void {
    if (state === "behind" || (state === "setBack") === this.#setBack.has(id)) return;
    if (state === "setBack") this.#setBack.set(id, { kind, sinceMs: this.#deps.clock.elapsedMs() });
    else this.#setBack.delete(id);
    for (const listener of this.#setBackListeners) listener();
  }

  #allSynced(): boolean {
    return [...this.#informers.values()].every((informer) => informer.synced);
  }

  #wake(): void {
    const ready = this.#waiting.filter(({ isSynced }) => isSynced());
    this.#waiting = this.#waiting.filter((one) => !ready.includes(one));
    for (const { resolve } of ready) resolve();
  }

  #observe(kind: Kind, object: KubeObject): void {
    this.#informers.get(idOf(kind))?.observe(object);
  }
}

function idOf({ group, version, plural }: Kind): string {
  return `${group}/${version}/${plural}`;
}

function observing(
  client: KubeClient,
  observe: (kind: Kind, object: KubeObject) => void,
): KubeClient {
  async function seen<T extends KubeObject>(kind: Kind<T>, answer: Promise<T>): Promise<T> {
    const object = await answer;
    observe(kind as Kind, object);
    return object;
  }
  return {
    ...client,
    create: (kind, object) => seen(kind, client.create(kind, object)),
    update: (kind, object) => seen(kind, client.update(kind, object)),
    updateStatus: (kind, object) => seen(kind, client.updateStatus(kind, object)),
    patch: (kind, ref, patch, subresource) =>
      // The answer of the scale subresource is a Scale, not the object.
      subresource === "scale"
        ? client.patch(kind, ref, patch, subresource)
        : seen(kind, client.patch(kind, ref, patch, subresource)),
    delete: async (kind, ref, options) => {
      const answer = await client.delete(kind, ref, options);
      // Of an object that waits for its finalizers or for its grace period, the answer is that object.
      if (isBeingDeleted(answer)) observe(kind as Kind, answer);
      return answer;
    },
  };
}

/** Whether the answer to a deletion is an object that is being deleted. Otherwise it is a Status. */
function isBeingDeleted(answer: unknown): answer is KubeObject {
  const metadata = isObject(answer) ? answer["metadata"] : undefined;
  return isObject(metadata) && metadata["deletionTimestamp"] !== undefined;
}
