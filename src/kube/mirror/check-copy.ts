/**
 * Compares a mirror with the server. A list may have lacked an object, or a watch event may be lost, and no later event
 * would reveal it. Then, for example, another node would be launched for a pod that the mirror lacks. karpenter-ts
 * only: client-go does not list again while its watch works.
 */
import { type Kind, type KubeObject, keyOf, versionOf } from "../../apis/meta.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { inTurns, type Steps, TURN_MS } from "../../base/steps.ts";
import type { KubeClient, KubeList, ListOptions, ListPage, ReadPage } from "../client/client.ts";
import { isForbidden, KubeError, type StatusBody } from "../errors.ts";

/** The objects of a mirror, at the version of its watch. */
export interface Copy<T extends KubeObject> {
  /** Reduces an object to the fields that the mirror keeps. */
  keep(object: T): T;
  /**
   * Whether the mirror lacks this object, which the server has, or has another version of it up to `upTo`. A later
   * version is an own write.
   */
  lacks(object: T, upTo: number): boolean;
  /** Objects up to the version `upTo` that are not among these, by key. */
  notIn(items: readonly T[], upTo: number): Steps<readonly T[]>;
  /** Objects that this list would remove if it were taken in, by key. */
  removedBy(list: KubeList<T>): Steps<readonly T[]>;
  /** Takes missed objects as the server has them, and removes those that are gone. Own writes after `upTo` stay. */
  heal(difference: Difference<T>, upTo: number): void;
}

interface Difference<T> {
  readonly missed: readonly T[];
  readonly gone: readonly T[];
}

/** What is checked, and how it is read. */
export interface CheckOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, "list" | "watch">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly kind: Kind<T>;
  readonly selection: Pick<ListOptions, "fieldSelector" | "labelSelector" | "namespace">;
  readonly copy: Copy<T>;
  /** Decodes protobuf, which takes the server and this process less work than JSON. Absent: JSON is used. */
  readonly readPage?: ReadPage<T> | undefined;
  /** Whether the first list counts as it is. Absent: it is compared with a watch. */
  readonly trustsFirstList?: boolean | undefined;
}

/** Milliseconds between two checks of one kind. */
const REST_MS = 60 * 60_000;
/**
 * Milliseconds between two checks if the last list was empty. A faulty server may answer with an empty list. At the
 * start of a process no known object contradicts that. To list an empty collection again costs little.
 */
const EMPTY_REST_MS = 5 * 60_000;
/** The pause before the next check, as a multiple of the check's length. During a check the watch delivers nothing. */
const REST_TIMES = 500;
/** The most objects that one check reads by name, with one request each. The others wait for the next check. */
const MOST_ASKED = 100;
/** The number of objects that are read by name if a new list lacks known objects. */
const SAMPLE = 3;
/** The most objects of a first list that is compared with a watch, which sends all of them once more. */
const MOST_COMPARED = 500;
/** Milliseconds without an event after which a watch has sent its first state, if no later event marks its end. */
const STATE_QUIET_MS = 1_000;
/** The longest comparison with a watch, in milliseconds. A process begins its work only after all first lists. */
const STATE_LIMIT_MS = 10_000;
/** How often an object is read by name until the server answers, with pauses of 1, 2, 4, … seconds. */
const MOST_TRIES = 4;

/** The server's list lacks an object that the server has by name. */
export class IncompleteList extends Error {
  override readonly name = "IncompleteList";
}

/** Runs the checks of one mirror. They need the right to list, the comparison with a watch the right to watch. */
export class CopyCheck<T extends KubeObject> {
  readonly #options: CheckOptions<T>;
  #dueMs = 0;
  /** When the last check or list ended. */
  #checkedMs = 0;

  constructor(options: CheckOptions<T>) {
    this.#options = options;
  }

  /** Records that the kind was just listed, so the next check is due only after a pause. */
  rest({ items }: Pick<KubeList<T>, "items">): void {
    this.#checkedMs = this.#options.clock.elapsedMs();
    this.#dueMs = this.#checkedMs + restMs(items.length === 0);
  }

  /** Makes a check due earlier, because a read contradicts the copy. Five minutes pass between two checks at least. */
  doubt(): void {
    this.#dueMs = Math.min(this.#dueMs, this.#checkedMs + EMPTY_REST_MS);
  }

  /**
   * Rejects with IncompleteList if the list lacks a known object that the API server has by name. A faulty server may
   * answer with an empty list: the nodes would count as empty, and end under their pods. Only a few objects are read,
   * because such a list lacks many.
   */
  async mustBeWhole(list: KubeList<T>): Promise<void> {
    const { clock, copy } = this.#options;
    await this.#mustBeGone(await inTurns(clock, copy.removedBy(list), TURN_MS));
  }

  /**
   * The same for the first list of a process, when no object is known yet. The server is asked in a second way: a watch
   * without a version begins with all objects. A long list is not compared, because that costs as much as the list.
   */
  async mustMatchWatch(list: KubeList<T>, isWanted: () => boolean): Promise<void> {
    if (this.#options.trustsFirstList === true || list.items.length > MOST_COMPARED) return;
    const listed = new Set(list.items.map(keyOf));
    const upTo = versionOf(list);
    const isLacking = (one: T) => !listed.has(keyOf(one)) && versionOf(one.metadata) <= upTo;
    const lacking: T[] = [];
    try {
      await this.#eachInState((one) => {
        if (isLacking(one)) lacking.push({ metadata: one.metadata } as T);
        return isWanted() && lacking.length <= MOST_COMPARED;
      });
    } catch (error) {
      // Without the right to watch, the list counts. The watch that follows it reports the missing right.
      if (!isForbidden(error)) throw error;
    }
    if (isWanted()) await this.#mustBeGone(lacking);
  }

  /**
   * Passes on the objects with which a watch without a version begins, until `take` returns false. A server may open no
   * watch, and a broken connection may stay silent. So this also ends after {@link STATE_LIMIT_MS}, and one second
   * after the last object.
   */
  async #eachInState(take: (object: T) => boolean): Promise<void> {
    const { client, clock, kind, log, selection } = this.#options;
    let isOver = false;
    let close = (): void => undefined;
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const limit = clock.after(STATE_LIMIT_MS, end);
    let quiet: Timer | undefined;
    const read = async (): Promise<void> => {
      const watch = await client.watch(kind, { ...selection, resourceVersion: "" });
      close = () => watch.close();
      if (isOver) return close();
      quiet = clock.after(STATE_QUIET_MS, end);
      for await (const { type, object } of watch) {
        if (type === "ERROR") throw asError(object);
        // All of these objects are added. Any other event comes after them.
        if (isOver || type !== "ADDED" || !take(object)) return;
        quiet.cancel();
        quiet = clock.after(STATE_QUIET_MS, end);
      }
    };
    try {
      const isWhole = await Promise.race([read().then(() => true), ended.then(() => false)]);
      if (!isWhole) log.debug("first list compared only in part", { kind: kind.kind });
    } finally {
      isOver = true;
      limit.cancel();
      quiet?.cancel();
      close();
    }
  }

  async #mustBeGone(lacking: readonly T[]): Promise<void> {
    const { kind, log } = this.#options;
    const step = Math.max(1, Math.floor(lacking.length / SAMPLE));
    for (const one of lacking.filter((_, at) => at % step === 0).slice(0, SAMPLE)) {
      if (await this.#isGoneAtLast(one)) continue;
      log.error("list lacks an object that the API server has by name, not taken in", {
        kind: kind.kind,
        name: keyOf(one),
        lacking: lacking.length,
        remedy: "look at the API server and etcd",
      });
      throw new IncompleteList(`the list of ${kind.plural} lacks ${keyOf(one)}`);
    }
  }

  /** Reads the object by name. A failed read is repeated, because the whole list would be read again otherwise. */
  async #isGoneAtLast(object: T): Promise<boolean> {
    const { clock } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#isGone(object);
      } catch (error) {
        if (tries === MOST_TRIES) throw error;
        await clock.sleep(1_000 * 2 ** (tries - 1));
      }
    }
  }

  /**
   * Runs a check if it is due. The watch must have reached the version `upTo`. It never rejects, because the watch
   * continues after it.
   */
  async run(upTo: number, isWanted: () => boolean): Promise<void> {
    const { clock, copy, kind, log } = this.#options;
    const startMs = clock.elapsedMs();
    if (upTo === 0 || startMs < this.#dueMs) return;
    // A list that fails does not suggest that the collection is empty, so the long pause applies.
    let pauseMs = REST_MS;
    try {
      const { missed, gone, isEmpty } = await this.#compare(upTo);
      pauseMs = restMs(isEmpty);
      if (isWanted()) copy.heal({ missed, gone }, upTo);
      if (missed.length + gone.length > 0)
        log.warn("copy was not as the API server has it, put right", {
          kind: kind.kind,
          missed: missed.length,
          gone: gone.length,
        });
    } catch (error) {
      log.debug("could not compare the copy", { kind: kind.kind, error: String(error) });
    }
    const endMs = clock.elapsedMs();
    this.#checkedMs = endMs;
    this.#dueMs = endMs + Math.max(pauseMs, REST_TIMES * (endMs - startMs));
  }

  /** Finds the differences. An object that the list lacks is read by name before it counts as gone. */
  async #compare(upTo: number): Promise<Difference<T> & { readonly isEmpty: boolean }> {
    const { client, clock, kind, selection, copy, readPage } = this.#options;
    const missed: T[] = [];
    // Only names are kept, because there may be a million objects. The watch will still deliver an object whose version
    // is newer than `upTo`, so it is not missed.
    const nameOf = (item: T, reduce: (item: T) => T): T => {
      if (versionOf(item.metadata) <= upTo && copy.lacks(item, upTo)) missed.push(reduce(item));
      const { name, namespace } = item.metadata;
      return { metadata: { name, ...(namespace === undefined ? {} : { namespace }) } } as T;
    };
    const list = await client.list(kind, {
      ...selection,
      keep: (item) => nameOf(item, (one) => copy.keep(one)),
      readPage: readPage && ((bytes) => namesOf(readPage(bytes), nameOf)),
    });
    const isEmpty = list.items.length === 0;
    // The list is older than the watch, because the server lags behind. So it proves nothing.
    if (versionOf(list) < upTo) return { missed: [], gone: [], isEmpty };
    const surplus = await inTurns(clock, copy.notIn(list.items, upTo), TURN_MS);
    const gone: T[] = [];
    for (const one of surplus.slice(0, MOST_ASKED)) if (await this.#isGone(one)) gone.push(one);
    return { missed, gone, isEmpty };
  }

  async #isGone({ metadata: { name, namespace, uid } }: T): Promise<boolean> {
    const { client, kind, selection } = this.#options;
    const byName = `metadata.name=${name}`;
    const fields =
      selection.fieldSelector === byName ? [byName] : [selection.fieldSelector, byName];
    const { items } = await client.list(kind, {
      ...selection,
      ...(namespace === undefined ? {} : { namespace }),
      fieldSelector: fields.filter((one) => one !== undefined).join(","),
    });
    return items.every(({ metadata }) => metadata.uid !== uid);
  }
}

function asError(object: unknown): KubeError {
  const status = object as StatusBody;
  return new KubeError(status.code ?? 500, status, "watching for the first objects");
}

function restMs(isEmpty: boolean): number {
  return isEmpty ? EMPTY_REST_MS : REST_MS;
}

/** Reduces the items of a page, which the decoder has already reduced once, to their names. */
function namesOf<T extends KubeObject>(
  page: ListPage<T>,
  nameOf: (item: T, reduce: (item: T) => T) => T,
): ListPage<T> {
  return { ...page, items: page.items.map((item) => nameOf(item, (one) => one)) };
}

/** Selects no object, so the list takes the server little work. */
const NO_OBJECT = "metadata.name=none";

/**
 * The present version of the server's store. After etcd was restored from a backup it is lower than before. A watch
 * from a higher version then gets no events until the version is reached. Undefined: the server does not say.
 */
export async function storeVersion<T extends KubeObject>(
  client: Pick<KubeClient, "list">,
  kind: Kind<T>,
  selection: CheckOptions<T>["selection"],
): Promise<number | undefined> {
  // If the account may read only one object by name, the request must name it.
  const fieldSelector = selection.fieldSelector ?? NO_OBJECT;
  const list = await client.list(kind, { ...selection, fieldSelector });
  return versionOf(list) || undefined;
}
