/**
 * Holds back the events of a watch until a reader needs them. Of several events of one object, only the last one is
 * decoded and passed on. A starting pod changes five times within seconds, and a page that is drawn once a second needs
 * only its last state.
 */
import { type Kind, type KubeObject, keyOf } from "../../apis/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { turnIsOver } from "../../base/steps.ts";
import type {
  KubeClient,
  ReadFrame,
  ReadOptions,
  Watch,
  WatchEvent,
  WatchOptions,
} from "../client/client.ts";
import { UnreadableFrame } from "../errors.ts";

/** Number of bytes that may be held back. With more, the events are passed on at once. */
const MOST_HELD_BYTES = 8 * 2 ** 20;
/**
 * Number of bytes that an event counts if it arrived as JSON, so that its size is not known. It is about the memory
 * of a whole pod.
 */
const JSON_EVENT_BYTES = 16_384;

type Waiting<T extends KubeObject> = WatchEvent<T> & { readonly frame?: Uint8Array };

/** Reads the watches of one kind. */
export class LatestEvents<T extends KubeObject> {
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #readName: ReadFrame<T>;
  #open: HeldWatch<T> | undefined;
  #arrived = 0;

  /**
   * `readName`: decodes only the type of a frame and the name of its object. It must decode a Status completely,
   * because errors are passed on as they are.
   */
  constructor(clock: Pick<Clock, "turnMs" | "sleep">, readName: ReadFrame<T>) {
    this.#clock = clock;
    this.#readName = readName;
  }

  /** The number of events that have arrived, also of those that were held back or replaced. */
  get arrived(): number {
    return this.#arrived;
  }

  /** Whether the reader of the watch is taking in an event that was held back. */
  get isGiving(): boolean {
    return this.#open?.isGiving === true;
  }

  /** Passes on all events that have arrived. Resolves when the reader has taken them in. */
  settled(): Promise<void> {
    return this.#open?.settled() ?? Promise.resolve();
  }

  /** Opens a watch whose events are held back. */
  async watch(
    client: Pick<KubeClient, "watch">,
    kind: Kind<T>,
    { readFrame, ...options }: WatchOptions & ReadOptions<T>,
  ): Promise<Watch<T>> {
    const named = (frame: Uint8Array): Waiting<T> => ({ ...this.#readName(frame), frame });
    const watch = await client.watch(kind, {
      ...options,
      ...(readFrame === undefined ? {} : { readFrame: named }),
    });
    this.#open = new HeldWatch(watch, this.#clock, {
      readFrame,
      arrived: () => {
        this.#arrived += 1;
      },
    });
    return this.#open;
  }
}

interface HeldOptions<T extends KubeObject> {
  readonly readFrame: ReadFrame<T> | undefined;
  readonly arrived: () => void;
}

class HeldWatch<T extends KubeObject> implements Watch<T> {
  readonly #watch: Watch<T>;
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #options: HeldOptions<T>;
  /** The last event of each object, in the order of arrival. */
  readonly #held = new Map<string, Waiting<T>>();
  #heldBytes = 0;
  /** Events that the reader gets now. */
  #given: readonly Waiting<T>[] = [];
  #at = 0;
  #isReleased = false;
  /** How the watch ended. The events that are held back are still passed on. */
  #end: { readonly error?: unknown } | undefined;
  #wakeReader: (() => void) | undefined;
  #settling: (() => void)[] = [];
  #isOver = false;
  isGiving = false;

  constructor(watch: Watch<T>, clock: Pick<Clock, "turnMs" | "sleep">, options: HeldOptions<T>) {
    this.#watch = watch;
    this.#clock = clock;
    this.#options = options;
  }

  settled(): Promise<void> {
    const isIdle = this.#held.size === 0 && this.#at === this.#given.length && !this.isGiving;
    if (isIdle || this.#isOver) return Promise.resolve();
    this.#release();
    return new Promise((resolve) => {
      this.#settling.push(resolve);
    });
  }

  close(): void {
    this.#watch.close();
    this.#finish({});
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent<T>> {
    const frames = this.#watch[Symbol.asyncIterator]();
    this.#collect(frames).then(
      () => this.#finish({}),
      (error: unknown) => this.#finish({ error }),
    );
    return {
      next: () => this.#next(),
      return: async () => {
        this.#leave();
        await frames.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  async #collect(events: AsyncIterator<WatchEvent<T>>): Promise<void> {
    for (;;) {
      const { done, value } = await events.next();
      if (done === true) return;
      this.#hold(value as Waiting<T>);
    }
  }

  #hold(event: Waiting<T>): void {
    this.#options.arrived();
    // A bookmark and an error have no name. They stay behind the events before them.
    const isNamed = event.type !== "BOOKMARK" && event.type !== "ERROR";
    const key = isNamed ? keyOf(event.object) : event.type;
    this.#held.delete(key);
    this.#held.set(key, event);
    // Frames that arrived together share one buffer. So a frame that was replaced still takes memory, and is
    // counted, too.
    this.#heldBytes += event.frame?.length ?? JSON_EVENT_BYTES;
    if (this.#heldBytes > MOST_HELD_BYTES || event.type === "ERROR") this.#release();
  }

  #release(): void {
    this.#isReleased = true;
    this.#wakeReader?.();
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#release();
  }

  async #next(): Promise<IteratorResult<WatchEvent<T>>> {
    this.isGiving = false;
    while (this.#at === this.#given.length) {
      if (this.#isReleased && this.#held.size > 0) {
        this.#give();
        continue;
      }
      if (this.#end !== undefined) return this.#ended(this.#end);
      this.#settle();
      await new Promise<void>((wake) => {
        this.#wakeReader = wake;
      });
    }
    if (turnIsOver(this.#clock)) await this.#clock.sleep(0);
    const event = this.#given[this.#at++] as Waiting<T>;
    this.isGiving = true;
    return { done: false, value: this.#read(event) };
  }

  #give(): void {
    this.#given = [...this.#held.values()];
    this.#at = 0;
    this.#held.clear();
    this.#heldBytes = 0;
    this.#isReleased = false;
  }

  #ended({ error }: { readonly error?: unknown }): IteratorResult<WatchEvent<T>> {
    this.#leave();
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  #read({ frame, ...event }: Waiting<T>): WatchEvent<T> {
    if (frame === undefined || this.#options.readFrame === undefined) return event as WatchEvent<T>;
    try {
      return this.#options.readFrame(frame);
    } catch (error) {
      this.#leave();
      this.#watch.close();
      throw new UnreadableFrame(`a frame of ${frame.length} bytes`, { cause: error });
    }
  }

  /** Called when the reader takes no further events. */
  #leave(): void {
    this.#isOver = true;
    this.isGiving = false;
    this.#settle();
  }

  #settle(): void {
    const settling = this.#settling;
    this.#settling = [];
    for (const resolve of settling) resolve();
  }
}
