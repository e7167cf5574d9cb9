/**
 * List and watch as one endless loop: list in pages, watch from there, begin again where it broke.
 * A broken watch resumes from the last version seen (bookmarks keep that fresh) after a backoff; 410
 * means that version is gone, so list again. Now and then the copy is compared (check-copy.ts). Never gives up until
 * closed.
 */

import {
  CUSTOM_RESOURCE_DEFINITION,
  definitionName,
  isCustom,
} from "../../apis/core/custom-resource-definition.ts";
import { apiVersionOf, type Kind, type KubeObject } from "../../apis/meta.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import type { Random } from "../../base/random.ts";
import type {
  KubeClient,
  KubeList,
  ListOptions,
  ReadFrame,
  ReadPage,
  Watch,
  WatchEvent,
} from "../client/client.ts";
import {
  isForbidden,
  isNotFound,
  isNotServed,
  isTooOldResourceVersion,
  KubeError,
  type StatusBody,
  UnreadableFrame,
} from "../errors.ts";
import { type Copy, CopyCheck, storeVersion } from "./check-copy.ts";

/** Same growth as client-go's reflector: 800 ms doubling to 30 s. */
const BACKOFF_BASE_MS = 800;
const BACKOFF_MAX_MS = 30_000;
/** How often a kind that is not installed is looked for again, */
const UNSERVED_RETRY_MS = 30_000;
/** and how seldom in the end where it serves others of the group: an older generation that is not installed. */
const UNSERVED_RETRY_MAX_MS = 300_000;
/** How often a kind that is installed but not served is complained about. */
const UNSERVED_TOLD_MS = 60_000;
/** How often a kind that we work without is tried again when reading it was forbidden. */
const FORBIDDEN_RETRY_MS = 300_000;
/** A watch that ends sooner than this without an event was no watch. upstream: client-go reflector */
const SHORT_WATCH_MS = 1_000;
/** The server ends a watch after 5 to 10 minutes, as client-go requests it. */
const WATCH_TIMEOUT_SECONDS = 300;
/** A server sends a bookmark each minute: a stream that is quiet for longer may be dead, whatever TCP says. */
const QUIET_LIMIT_MS = 75_000;
/** For kinds on which no decision depends: kube-apiserver sends no bookmarks for kinds without writes. */
const RELAXED_QUIET_LIMIT_MS = 300_000;

/**
 * How far a mirror's picture can be trusted.
 *
 * - `current`: its watch is open, or the kind is proven not to be installed.
 * - `behind`: the watch broke, or the kind is not served just now. The picture is the last one that was listed.
 * - `unproven`: empty because the kind is not served or may not be read, and nothing proves that it is not
 *   installed; or listed at an older version than was seen before. Good enough to plan with; no proof that an object
 *   is gone.
 */
export type ViewState = "current" | "behind" | "unproven";

/** The kind to watch, and where to report its objects. */
export interface ReflectOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly kind: Kind<T>;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly namespace?: string | undefined;
  /** A kind that may not be read lists as empty, too. Default: it is waited for. */
  readonly optional?: boolean | undefined;
  /** A stream may be silent for some minutes before it counts as dead. Default: little more than one. */
  readonly relaxed?: boolean | undefined;
  readonly readFrame?: ReadFrame<T> | undefined;
  readonly readPage?: ReadPage<T> | undefined;
  /** Whether other kinds of the group are served. If so, a missing kind is looked for ever less often. */
  readonly groupIsServed?: () => boolean;
  /** Reduces an object to what is kept of it. Absent: the whole object is kept. */
  readonly keep?: ((object: T) => T) | undefined;
  /** What is compared with the server now and then. Absent: it is not. */
  readonly copy?: Copy<T>;
  /**
   * The whole truth, after a list. An unserved kind lists as empty, at no version. The watch begins when it is taken in:
   * at once, or when the promise that comes back is kept.
   */
  readonly onList: (list: KubeList<T>) => unknown;
  readonly onEvent: (event: WatchEvent<T>) => void;
  /** Called at each change of the state; the first state is `behind`. */
  readonly onState?: (state: ViewState) => void;
}

/** A running watch of one kind. */
export interface Reflection {
  close(): void;
  /** Another request reached the server: end the backoff and connect now. */
  retryNow(): void;
  /** A kind has been installed: this one, if it was not served, may be as well. */
  lookAgain(): void;
}

/** What the server sent was in order; who takes it in failed. */
class HandlerError extends Error {
  override readonly name = "HandlerError";
}

/** Starts the loop. */
export function reflect<T extends KubeObject>(options: ReflectOptions<T>): Reflection {
  const loop = new ReflectLoop(options);
  mustNotFail(loop.run(), `the watch of ${options.kind.plural}`);
  return loop;
}

class ReflectLoop<T extends KubeObject> implements Reflection {
  readonly #options: ReflectOptions<T>;
  readonly #check: CopyCheck<T> | undefined;
  #closed = false;
  #watch: Watch<T> | undefined;
  #pause: { timer: Timer; wake: () => void } | undefined;
  /** Where to resume; undefined = list first. */
  #resourceVersion: string | undefined;
  #failures = 0;
  /** How often in a row the version to resume from was gone. */
  #expired = 0;
  #state: ViewState = "behind";
  /** The wait is for a server that was away. */
  #away = false;
  /** The last failure was the server's: away, on its way up, or overloaded. */
  #troubled = false;
  #heardMs = 0;
  /** The newest version that came, of a list or an event. */
  #newest = 0;
  /** The list is older than what came before it: a server that lags behind, or a store that was set back. */
  #isSetBack = false;
  /** There was a list before. Its objects stay until the kind's definition is gone. */
  #listed = false;
  /** How often in a row it was found not to be installed. */
  #absent = 0;
  /** When it was last said that the kind is not served. */
  #unservedToldMs: number | undefined;
  /** Undefined after a frame that it could not read: then JSON is used. */
  #readFrame: ReadFrame<T> | undefined;

  constructor(options: ReflectOptions<T>) {
    this.#options = options;
    this.#readFrame = options.readFrame;
    const { copy } = options;
    if (copy !== undefined)
      this.#check = new CopyCheck({ ...options, copy, selection: this.#selection() });
  }

  close(): void {
    this.#closed = true;
    this.#watch?.close();
    this.#wake();
  }

  retryNow(): void {
    // The server is back, and this kind may need a moment: the backoff starts again from its shortest wait.
    if (this.#troubled) this.#failures = 0;
    if (this.#away) this.#wake();
  }

  lookAgain(): void {
    if (this.#absent === 0) return;
    this.#absent = 1;
    this.#wake();
  }

  #wake(): void {
    this.#pause?.timer.cancel();
    this.#pause?.wake();
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      try {
        if (this.#resourceVersion === undefined) await this.#list();
        else await this.#check?.run(Number(this.#resourceVersion) || 0, () => !this.#closed);
        if (!this.#closed && !(await this.#follow())) await this.#pauseAfterNothing();
      } catch (error) {
        await this.#survive(error);
      }
    }
  }

  /** The loop must survive every error: without it the copy would stay stale for ever. */
  async #survive(error: unknown): Promise<void> {
    try {
      await this.#recover(error);
    } catch (another) {
      this.#say(another);
      await this.#sleep(this.#backoffMs());
    }
  }

  #say(error: unknown): void {
    const { kind, log } = this.#options;
    const cause = error instanceof HandlerError ? error.cause : error;
    const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    log.error("failed taking in what a watch brought", { kind: kind.kind, error: text });
  }

  async #handOver(list: KubeList<T>): Promise<void> {
    try {
      const taken = this.#options.onList(list);
      if (taken instanceof Promise) await taken;
    } catch (cause) {
      throw new HandlerError("taking in a list", { cause });
    }
  }

  async #list(): Promise<void> {
    const { client, kind, keep, readPage } = this.#options;
    const list = await client.list(kind, { ...this.#selection(), keep, readPage });
    if (this.#closed) return;
    this.#troubled = false;
    this.#absent = 0;
    this.#listed = true;
    this.#unservedToldMs = undefined;
    const version = Number(list.resourceVersion) || 0;
    this.#isSetBack = version < this.#newest;
    if (this.#isSetBack) this.#saySetBack(version);
    await this.#handOver(list);
    this.#check?.rest();
    // Not before: half a list is no picture to go on from.
    this.#resourceVersion = list.resourceVersion;
    this.#failures = 0;
    this.#tellOpen(version);
  }

  /** The stream is open, and this version of it is known. */
  #tellOpen(version: number): void {
    if (version >= this.#newest) {
      this.#newest = version;
      this.#isSetBack = false;
    }
    this.#tell(this.#isSetBack ? "unproven" : "current");
  }

  /** Reports an empty list, because reading the kind is forbidden or the kind is not installed. */
  async #takeNone(state: ViewState): Promise<void> {
    await this.#handOver({ items: [], resourceVersion: "" });
    this.#tell(state);
  }

  /** Resolves when the server ended the watch: whether it brought anything or at least lasted. */
  async #follow(): Promise<boolean> {
    const { client, clock, kind, random } = this.#options;
    const startMs = clock.elapsedMs();
    let brought = false;
    const watch = await client.watch(kind, {
      resourceVersion: this.#resourceVersion ?? "",
      timeoutSeconds: WATCH_TIMEOUT_SECONDS + random.int(WATCH_TIMEOUT_SECONDS),
      readFrame: this.#readFrame,
      ...this.#selection(),
    });
    if (this.#closed) {
      watch.close();
      return true;
    }
    this.#watch = watch;
    this.#tellOpen(0);
    let silent = false;
    const guard = this.#endWhenQuiet(watch, () => {
      silent = true;
    });
    try {
      for await (const event of watch) {
        if (this.#closed) return true;
        brought = true;
        this.#heardMs = clock.elapsedMs();
        this.#take(event);
      }
    } finally {
      guard.cancel();
      this.#tell("behind");
    }
    if (silent && !brought) await this.#listAnewIfSetBack();
    return brought || clock.elapsedMs() - startMs >= SHORT_WATCH_MS;
  }

  /** A store that was set back sends nothing for what may be hours. */
  async #listAnewIfSetBack(): Promise<void> {
    if (this.#closed) return;
    const { client, kind } = this.#options;
    const version = await storeVersion(client, kind, this.#selection());
    if (version !== undefined && version < this.#newest) this.#resourceVersion = undefined;
  }

  /** One timer for each watch, restarted when it fires too early: a timer for each event would be too slow. */
  #endWhenQuiet(watch: Watch<T>, ended: () => void): { cancel(): void } {
    const { clock, kind, log, relaxed } = this.#options;
    const limitMs = relaxed === true ? RELAXED_QUIET_LIMIT_MS : QUIET_LIMIT_MS;
    this.#heardMs = clock.elapsedMs();
    let timer: Timer;
    const ring = (): void => {
      const quietMs = clock.elapsedMs() - this.#heardMs;
      if (quietMs < limitMs) {
        timer = clock.after(limitMs - quietMs, ring);
        return;
      }
      // Normal for a kind without writes: kube-apiserver sends no bookmarks for it.
      log.debug("watch went silent, resuming", { kind: kind.kind, quietMs });
      this.#tell("behind");
      ended();
      watch.close();
    };
    timer = clock.after(limitMs, ring);
    return { cancel: () => timer.cancel() };
  }

  #tell(state: ViewState): void {
    if (state === this.#state || this.#closed) return;
    this.#state = state;
    this.#options.onState?.(state);
  }

  /** A server that ends watches at once is not asked again at once. */
  async #pauseAfterNothing(): Promise<void> {
    if (!this.#closed) await this.#sleep(this.#backoffMs());
  }

  #take(event: WatchEvent<T>): void {
    if (event.type === "ERROR") {
      const status = event.object as unknown as StatusBody;
      throw new KubeError(status.code ?? 500, status, `watching ${this.#options.kind.plural}`);
    }
    this.#failures = 0;
    this.#troubled = false;
    this.#expired = 0;
    this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
    this.#tellOpen(Number(this.#resourceVersion) || 0);
    if (event.type === "BOOKMARK") return;
    try {
      this.#options.onEvent(event);
    } catch (error) {
      // The stream is in order, and nothing is gained by hearing it again.
      this.#say(error);
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#closed) return;
    const { kind, log } = this.#options;
    if (error instanceof HandlerError) throw error;
    if (isTooOldResourceVersion(error)) {
      this.#resourceVersion = undefined;
      // The first relist is free, whatever failed before: the server is there, and any other wait would only
      // prolong being stale. One that keeps saying 410 is not hammered.
      if (this.#expired++ === 0) return;
      this.#failures = Math.max(this.#failures, this.#expired - 2);
    }
    if (isNotServed(error)) return this.#recoverUnserved();
    if (isForbidden(error)) return this.#recoverForbidden(error);
    if (error instanceof UnreadableFrame) {
      log.warn("watch cannot be read as protobuf, going on with JSON", {
        kind: kind.kind,
        error: `${error.message}: ${String(error.cause)}`,
      });
      this.#readFrame = undefined;
    }
    const waitMs = this.#backoffMs();
    log.debug("watch broke, resuming", { kind: kind.kind, error: String(error), waitMs });
    this.#tell("behind");
    this.#away = !(error instanceof KubeError) || error.status >= 500;
    // 429 is also what a server says that has not filled its caches yet.
    this.#troubled = this.#away || (error instanceof KubeError && error.status === 429);
    await this.#sleep(waitMs);
    this.#away = false;
  }

  /**
   * 404 for the whole kind. Only its definition tells whether that means "there are none": a server on its way up,
   * a version that is switched off and a failing aggregation give the same answer while every object is still stored.
   */
  async #recoverUnserved(): Promise<void> {
    this.#resourceVersion = undefined;
    const definition = await this.#definition();
    if (definition === "gone" || (definition === "unknown" && !this.#listed)) {
      // Gone: Kubernetes removes a definition only after its objects.
      this.#listed = false;
      await this.#takeNone(definition === "gone" ? "current" : "unproven");
      return this.#sleep(this.#absenceMs());
    }
    this.#tell("behind");
    this.#sayUnserved();
    return this.#sleep(this.#backoffMs());
  }

  /** Whether the kind's CustomResourceDefinition is stored, read live. A built-in kind has none. */
  async #definition(): Promise<"there" | "gone" | "unknown"> {
    const { client, kind } = this.#options;
    // A Kubernetes without the kind never lists it; one that has listed it still has it.
    if (!isCustom(kind)) return this.#listed ? "there" : "gone";
    try {
      await client.get(CUSTOM_RESOURCE_DEFINITION, { name: definitionName(kind) });
      return "there";
    } catch (error) {
      return isNotFound(error) ? "gone" : "unknown";
    }
  }

  #saySetBack(version: number): void {
    const { kind, log } = this.#options;
    log.error(
      "list is older than what was seen before, no end rests on it until it has caught up",
      {
        kind: kind.kind,
        version,
        seen: this.#newest,
        remedy: "look at the API server; after a restore of etcd restart this controller",
      },
    );
  }

  #sayUnserved(): void {
    const { clock, kind, log } = this.#options;
    const nowMs = clock.elapsedMs();
    const toldMs = this.#unservedToldMs;
    if (toldMs !== undefined && nowMs - toldMs < UNSERVED_TOLD_MS) return;
    this.#unservedToldMs = nowMs;
    log.error("kind is not served, waiting for it", {
      kind: kind.kind,
      apiVersion: apiVersionOf(kind),
      remedy: isCustom(kind)
        ? `serve version ${kind.version} in customresourcedefinition ${definitionName(kind)}`
        : "look at the API server",
    });
  }

  /**
   * Nothing mends this but an administrator, so it is said where it is seen. What has been listed before stays
   * true meanwhile: a server on its way up may not know the roles yet.
   */
  async #recoverForbidden(error: unknown): Promise<void> {
    const { kind, log, optional } = this.#options;
    const group = kind.group === "" ? "" : `.${kind.group}`;
    const fields = {
      kind: kind.kind,
      error: String(error),
      remedy: `grant list and watch on ${kind.plural}${group} to the controller's service account`,
    };
    if (optional !== true) {
      log.error("not allowed to watch, waiting for the right", fields);
      this.#tell("behind");
      return this.#sleep(this.#backoffMs());
    }
    if (this.#failures === 0) log.warn("not allowed to watch, going on without", fields);
    if (this.#listed) {
      this.#tell("behind");
      return this.#sleep(this.#backoffMs());
    }
    this.#failures++;
    await this.#takeNone("unproven");
    return this.#sleep(FORBIDDEN_RETRY_MS);
  }

  #selection(): Pick<ListOptions, "fieldSelector" | "labelSelector" | "namespace"> {
    const { fieldSelector, labelSelector, namespace } = this.#options;
    return {
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(namespace === undefined ? {} : { namespace }),
    };
  }

  #absenceMs(): number {
    const waitMs = UNSERVED_RETRY_MS * 2 ** Math.min(this.#absent, 6);
    this.#absent++;
    const mayGrow = this.#options.groupIsServed?.() === true;
    return mayGrow ? Math.min(waitMs, UNSERVED_RETRY_MAX_MS) : UNSERVED_RETRY_MS;
  }

  /** Longer with each failure in a row, and never in step with other replicas. */
  #backoffMs(): number {
    const backoffMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** Math.min(this.#failures, 6));
    this.#failures++;
    return Math.round(backoffMs * (1 + this.#options.random.fraction()));
  }

  #sleep(ms: number): Promise<void> {
    // Closed during an await: nothing would end this wait any more.
    if (this.#closed) return Promise.resolve();
    return new Promise((wake) => {
      this.#pause = { timer: this.#options.clock.after(ms, wake), wake };
    });
  }
}
