/**
 * List and watch as one endless loop: list in pages, watch from there, begin again where it broke.
 * A broken watch resumes from the last version seen (bookmarks keep that fresh) after a backoff; 410
 * means that version is gone, so list again. Never gives up until closed.
 */

import type { Kind, KubeObject } from "../apis/meta.ts";
import type { Clock, Timer } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { KubeClient, KubeList, ListOptions, Watch, WatchEvent } from "./client.ts";
import {
  isForbidden,
  isNotFound,
  isTooOldResourceVersion,
  KubeError,
  type StatusBody,
} from "./errors.ts";

/** Same growth as client-go's reflector: 800 ms doubling to 30 s. */
const BACKOFF_BASE_MS = 800;
const BACKOFF_MAX_MS = 30_000;
/** How often a kind that the server does not serve is looked for again. */
const UNSERVED_RETRY_MS = 30_000;
/** How often a kind that we work without is tried again when reading it was forbidden. */
const FORBIDDEN_RETRY_MS = 300_000;
/** A watch that ends sooner than this without an event was no watch. upstream: client-go reflector */
const SHORT_WATCH_MS = 1_000;
/** Watches end by themselves after 5 to 10 minutes, as client-go asks for. */
const WATCH_TIMEOUT_SECONDS = 300;

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
  /** The whole truth, after a list. An unserved kind lists as empty. */
  readonly onList: (list: KubeList<T>) => void;
  readonly onEvent: (event: WatchEvent<T>) => void;
}

/** Starts the loop; returns what ends it. */
export function reflect<T extends KubeObject>(options: ReflectOptions<T>): () => void {
  const loop = new ReflectLoop(options);
  void loop.run();
  return () => loop.close();
}

class ReflectLoop<T extends KubeObject> {
  readonly #options: ReflectOptions<T>;
  #closed = false;
  #watch: Watch<T> | undefined;
  #pause: { timer: Timer; wake: () => void } | undefined;
  /** Where to resume; undefined = list first. */
  #resourceVersion: string | undefined;
  #failures = 0;

  constructor(options: ReflectOptions<T>) {
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
    this.#watch?.close();
    this.#pause?.timer.cancel();
    this.#pause?.wake();
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      try {
        if (this.#resourceVersion === undefined) await this.#list();
        if (!this.#closed && !(await this.#follow())) await this.#pauseAfterNothing();
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  async #list(): Promise<void> {
    const { client, kind, onList } = this.#options;
    const list = await client.list(kind, this.#selection());
    if (this.#closed) return;
    this.#resourceVersion = list.resourceVersion;
    this.#failures = 0;
    onList(list);
  }

  /** Resolves when the server ended the watch: whether it brought anything or at least lasted. */
  async #follow(): Promise<boolean> {
    const { client, clock, kind, random } = this.#options;
    const startMs = clock.now();
    let brought = false;
    const watch = await client.watch(kind, {
      resourceVersion: this.#resourceVersion ?? "",
      timeoutSeconds: WATCH_TIMEOUT_SECONDS + random.int(WATCH_TIMEOUT_SECONDS),
      ...this.#selection(),
    });
    if (this.#closed) {
      watch.close();
      return true;
    }
    this.#watch = watch;
    for await (const event of watch) {
      if (this.#closed) return true;
      brought = true;
      this.#take(event);
    }
    return brought || clock.now() - startMs >= SHORT_WATCH_MS;
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
    this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
    if (event.type !== "BOOKMARK") this.#options.onEvent(event);
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#closed) return;
    const { kind, log, onList } = this.#options;
    if (isTooOldResourceVersion(error)) {
      this.#resourceVersion = undefined;
      // The first relist is free; a server that keeps saying 410 is not hammered.
      if (this.#failures++ === 0) return;
    }
    if (isNotFound(error)) {
      // The kind is not installed here: an empty truth, looked for again later.
      this.#resourceVersion = undefined;
      onList({ items: [], resourceVersion: "" });
      return this.#sleep(UNSERVED_RETRY_MS);
    }
    if (isForbidden(error)) return this.#recoverForbidden(error);
    const waitMs = this.#backoffMs();
    log.debug("watch broke, resuming", { kind: kind.kind, error: String(error), waitMs });
    await this.#sleep(waitMs);
  }

  /** Nothing mends this but an administrator, so it is said where it is seen. */
  #recoverForbidden(error: unknown): Promise<void> {
    const { kind, log, onList, optional } = this.#options;
    this.#resourceVersion = undefined;
    const fields = {
      kind: kind.kind,
      error: String(error),
      remedy: `grant list and watch on ${kind.plural}${kind.group === "" ? "" : `.${kind.group}`} to the controller's service account`,
    };
    if (optional === true) {
      if (this.#failures++ === 0) log.warn("not allowed to watch, going on without", fields);
      onList({ items: [], resourceVersion: "" });
      return this.#sleep(FORBIDDEN_RETRY_MS);
    }
    log.error("not allowed to watch, waiting for the right", fields);
    return this.#sleep(this.#backoffMs());
  }

  #selection(): Pick<ListOptions, "fieldSelector" | "labelSelector" | "namespace"> {
    const { fieldSelector, labelSelector, namespace } = this.#options;
    return {
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(namespace === undefined ? {} : { namespace }),
    };
  }

  /** Longer with each failure in a row, and never in step with other replicas. */
  #backoffMs(): number {
    const backoffMs = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** Math.min(this.#failures, 6));
    this.#failures++;
    return Math.round(backoffMs * (1 + this.#options.random.fraction()));
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      this.#pause = { timer: this.#options.clock.after(ms, wake), wake };
    });
  }
}
