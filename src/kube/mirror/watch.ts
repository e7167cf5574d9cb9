/**
 * Lists and watches a kind in an endless loop. A broken watch resumes from the last version after a backoff;
 * bookmarks keep that version recent. On 410 the version is gone, and the kind is listed again. From time to time the
 * copy is compared with the server (check-copy.ts). The loop runs until it is closed.
 */
import { definitionName, isCustom } from "../../apis/core/custom-resource-definition.ts";
import { apiVersionOf, type Kind, type KubeObject, versionOf } from "../../apis/meta.ts";
import type { Clock, Timer } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import type { Random } from "../../base/random.ts";
import type {
  KubeClient,
  KubeList,
  ListOptions,
  ReadFrame,
  Watch,
  WatchEvent,
} from "../client/client.ts";
import {
  isForbidden,
  isNotServed,
  isTooOldResourceVersion,
  KubeError,
  type StatusBody,
  UnreadableFrame,
} from "../errors.ts";
import {
  type CheckOptions,
  type Copy,
  CopyCheck,
  IncompleteList,
  storeVersion,
} from "./check-copy.ts";
import { definitionState } from "./definition-state.ts";
import type { ViewState } from "./mirror.ts";

/** Backoff of client-go's reflector: 800 ms, doubled up to 30 s. */
const BACKOFF_BASE_MS = 800;
const BACKOFF_MAX_MS = 30_000;
/** How often a kind that is not installed is tried again. */
const UNSERVED_RETRY_MS = 30_000;
/**
 * The longest pause between these attempts while other kinds of the group are served. Then probably only newer or older
 * releases have the missing kind, so it will not appear soon.
 */
const UNSERVED_RETRY_MAX_MS = 300_000;
/** How often the log reports a kind that is installed but not served. */
const UNSERVED_TOLD_MS = 60_000;
/** How often an optional kind is tried again if reading it is forbidden. */
const FORBIDDEN_RETRY_MS = 300_000;
/** A watch that ends sooner and without an event counts as failed. upstream: client-go reflector */
const SHORT_WATCH_MS = 1_000;
/** The shortest time after which the server ends a watch; the longest is twice as long, as in client-go. */
const WATCH_TIMEOUT_SECONDS = 300;
/** A server sends a bookmark each minute. A stream that is silent for longer may be broken, even on an open socket. */
const QUIET_LIMIT_MS = 75_000;
/** The limit for kinds on which no decision depends. Without writes they get no bookmarks from kube-apiserver. */
const RELAXED_QUIET_LIMIT_MS = 300_000;

/** The kind to watch, and where to report its objects. */
export interface ReflectOptions<T extends KubeObject>
  extends Pick<CheckOptions<T>, "readPage" | "trustsFirstList"> {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly kind: Kind<T>;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly namespace?: string | undefined;
  /** Whether the kind counts as empty if reading it is forbidden. Absent: wait until it is allowed. */
  readonly optional?: boolean | undefined;
  /** Whether the stream may be silent for some minutes until it counts as broken. Absent: little more than one. */
  readonly relaxed?: boolean | undefined;
  readonly readFrame?: ReadFrame<T> | undefined;
  /** Whether other kinds of the group are served. If so, a missing kind is tried less and less often. */
  readonly groupIsServed?: () => boolean;
  /** Reduces an object to the fields that are kept. Absent: all are kept. */
  readonly keep?: ((object: T) => T) | undefined;
  /** The mirror to compare with the server, at its first list and from time to time. Absent: it is not compared. */
  readonly copy?: Copy<T>;
  /**
   * Called after each list. A kind that is not served gives an empty list without version. The watch begins after this
   * returns, or after the returned promise resolves. `isRestored`: two reads of the store agree that its versions went
   * back, so the list counts although known objects have higher versions.
   */
  readonly onList: (list: KubeList<T>, isRestored: boolean) => unknown;
  readonly onEvent: (event: WatchEvent<T>) => void;
  /** Called at each change of the state; the first state is `behind`. */
  readonly onState?: (state: ViewState) => void;
}

/** A running watch of one kind. */
export interface Reflection {
  close(): void;
  /** Ends the backoff and connects now. Call it when another request reached the server. */
  retryNow(): void;
  /** Call it when another kind was installed. The kind of this watch may be installed now, too. */
  lookAgain(): void;
  /** Call it when a read contradicts the copy. The copy is compared when the next watch begins. */
  doubt(): void;
}

/** The error that the server's data was valid, but the receiving code failed. */
class HandlerError extends Error {
  override readonly name = "HandlerError";
}

/** Starts the loop of one kind. */
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
  /** The version to resume from. Undefined: list first. */
  #resourceVersion: string | undefined;
  #failures = 0;
  /** How often in a row the version to resume from was gone. */
  #expired = 0;
  #state: ViewState = "behind";
  /** Whether the loop waits because the server gave no answer or an error of its own (5xx). */
  #away = false;
  /** Whether the last failure was a fault of the server: unreachable, starting or overloaded. */
  #troubled = false;
  #heardMs = 0;
  /** The newest version in any list or event so far. */
  #newest = 0;
  /** Whether the last list is older than earlier data: the server lags behind, or its store was set back. */
  #isSetBack = false;
  /** Whether a second read confirmed that versions went back. `listed`: and the list after that was handed over. */
  #restored: "no" | "read" | "listed" = "no";
  /** Whether the kind was listed before. Its objects count until the kind's definition is gone. */
  #listed = false;
  /** How often in a row the kind was not installed. */
  #absent = 0;
  /** When the log last said that the kind is not served. */
  #unservedToldMs: number | undefined;
  /** Decodes a frame. Undefined: a frame could not be decoded, so JSON is used from now on. */
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
    // The server answers again, but this kind may need some time. So the backoff starts from its shortest wait.
    if (this.#troubled) this.#failures = 0;
    if (this.#away) this.#wake();
  }

  lookAgain(): void {
    if (this.#absent === 0) return;
    this.#absent = 1;
    this.#wake();
  }

  doubt(): void {
    this.#check?.doubt();
  }

  #wake(): void {
    this.#pause?.timer.cancel();
    this.#pause?.wake();
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      try {
        if (this.#isSetBack && this.#restored === "no") await this.#listAnewIfSetBack();
        if (this.#resourceVersion === undefined) await this.#list();
        else await this.#check?.run(Number(this.#resourceVersion) || 0, () => !this.#closed);
        // If the server ended the watch at once, the next one waits.
        if (!this.#closed && !(await this.#follow())) await this.#sleep(this.#backoffMs());
      } catch (error) {
        await this.#survive(error);
      }
    }
  }

  /** Handles any error. The loop must go on, because otherwise the mirror would become outdated. */
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

  async #handOver(list: KubeList<T>, isRestored = false): Promise<void> {
    try {
      const taken = this.#options.onList(list, isRestored);
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
    const version = versionOf(list);
    if (this.#listed) await this.#check?.mustBeWhole(list);
    else await this.#check?.mustMatchWatch(list, () => !this.#closed);
    if (this.#closed) return;
    this.#listed = true;
    this.#unservedToldMs = undefined;
    this.#isSetBack = version < this.#newest;
    if (this.#isSetBack) this.#saySetBack(version);
    const isRestored = this.#isSetBack && this.#restored !== "no";
    await this.#handOver(list, isRestored);
    this.#restored = isRestored ? "listed" : "no";
    this.#check?.rest(list);
    // A watch may begin at this version only after the whole list was handed over.
    this.#resourceVersion = list.resourceVersion;
    this.#failures = 0;
    this.#tellOpen(version);
  }

  /** Records that the stream is open at this version. */
  #tellOpen(version: number): void {
    if (version >= this.#newest) {
      this.#newest = version;
      this.#isSetBack = false;
      this.#restored = "no";
    }
    this.#tell(this.#isSetBack ? "setBack" : "current");
  }

  /** Reports an empty list, because the kind may not be read or is not installed. */
  async #takeNone(state: ViewState): Promise<void> {
    await this.#handOver({ items: [], resourceVersion: "" });
    this.#tell(state);
  }

  /** Resolves when the server ended the watch. True: it delivered events or lasted long enough. */
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

  /** Lists again if the server's store was set back, because a watch may then get no events for hours. */
  async #listAnewIfSetBack(): Promise<void> {
    if (this.#closed) return;
    const { client, kind } = this.#options;
    const version = await storeVersion(client, kind, this.#selection());
    if (version === undefined || version >= this.#newest) return;
    this.#resourceVersion = undefined;
    if (this.#restored === "no") this.#restored = "read";
  }

  /** Ends a silent watch. One timer is restarted when it fires too early: a timer for each event would be too slow. */
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
      // This is normal for a kind without writes: kube-apiserver sends no bookmarks for it.
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
      // The data was valid, so receiving it again would not help.
      this.#say(error);
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#closed) return;
    const { kind, log } = this.#options;
    if (error instanceof HandlerError) throw error;
    if (isTooOldResourceVersion(error)) {
      this.#resourceVersion = undefined;
      // The first list after a 410 needs no wait, because the server is reachable and the mirror is outdated. Further
      // ones wait.
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
    // With an IncompleteList the server has answered, so it counts as reachable.
    this.#away =
      error instanceof KubeError ? error.status >= 500 : !(error instanceof IncompleteList);
    // A server also answers 429 while its caches are not filled.
    this.#troubled = this.#away || (error instanceof KubeError && error.status === 429);
    await this.#sleep(waitMs);
    this.#away = false;
  }

  /**
   * Handles 404 for the whole kind. It may be a server that is starting, a version that is switched off, or a failing
   * aggregated API: then the objects still exist. Only the kind's definition shows whether it was removed.
   */
  async #recoverUnserved(): Promise<void> {
    this.#resourceVersion = undefined;
    const { client, kind } = this.#options;
    const definition = await definitionState(client, kind, this.#listed);
    if (definition === "gone" || (definition === "unknown" && !this.#listed)) {
      // Kubernetes removes a definition only after all its objects.
      this.#listed = false;
      await this.#takeNone(definition === "gone" ? "current" : "unproven");
      return this.#sleep(this.#absenceMs());
    }
    this.#tell("behind");
    this.#sayUnserved();
    return this.#sleep(this.#backoffMs());
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
   * Handles 403. Only an administrator can solve it, so it is logged. Objects from earlier lists stay valid, because
   * a server that is starting may not know its roles yet.
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

  /** The wait, doubled with each failure in a row. A random part prevents all replicas from retrying together. */
  #backoffMs(): number {
    const backoffMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** Math.min(this.#failures, 6));
    this.#failures++;
    return Math.round(backoffMs * (1 + this.#options.random.fraction()));
  }

  #sleep(ms: number): Promise<void> {
    // The watch was closed during an await. No other code would end this wait.
    if (this.#closed) return Promise.resolve();
    return new Promise((wake) => {
      this.#pause = { timer: this.#options.clock.after(ms, wake), wake };
    });
  }
}
