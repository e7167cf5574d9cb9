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
  TakeFrame,
  Watch,
  WatchEvent,
  WatchOptions,
} from "../client/client.ts";
import { UnreadableFrame } from "../errors.ts";
import { type FramePlace, HeldFrames } from "./held-frames.ts";

/** Number of bytes that may be held back. With more, the events are passed on at once. */
const MOST_HELD_BYTES = 8 * 2 ** 20;
/**
 * Number of bytes that an event counts if it arrived as JSON, so that its size is not known. It is about the memory
 * of a whole pod.
 */
const JSON_EVENT_BYTES = 16_384;

/** A decoded event, or where the frame of an event is. */
type Waiting<T extends KubeObject> = WatchEvent<T> | FramePlace;

/** Reads the watches of one kind. */
export class LatestEvents<T extends KubeObject> {
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #readKey: (frame: Uint8Array) => string | undefined;
  #open: HeldWatch<T> | undefined;
  #arrived = 0;

  /**
   * `readKey`: decodes only the key of the object in a frame. Undefined: the frame has no object that can be held back,
   * for example a Status. It is decoded and passed on behind the events before it.
   */
  constructor(
    clock: Pick<Clock, "turnMs" | "sleep">,
    readKey: (frame: Uint8Array) => string | undefined,
  ) {
    this.#clock = clock;
    this.#readKey = readKey;
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
    { readFrame, ...options }: WatchOptions & { readonly readFrame?: ReadFrame<T> | undefined },
  ): Promise<Watch<T>> {
    const held = new HeldWatch<T>(this.#clock, {
      readFrame,
      arrived: () => {
        this.#arrived += 1;
      },
    });
    const take: TakeFrame<T> = (frame) => {
      const key = this.#readKey(frame);
      if (key === undefined) return readFrame?.(frame);
      held.holdFrame(key, frame);
      return undefined;
    };
    const reading: ReadOptions<T> = readFrame === undefined ? {} : { readFrame: take };
    held.follow(await client.watch(kind, { ...options, ...reading }));
    this.#open = held;
    return held;
  }
}

interface HeldOptions<T extends KubeObject> {
  readonly readFrame: ReadFrame<T> | undefined;
  readonly arrived: () => void;
}

class HeldWatch<T extends KubeObject> implements Watch<T> {
  #watch: Watch<T> | undefined;
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #options: HeldOptions<T>;
  /** The last event of each object, in the order of arrival. */
  readonly #held = new Map<string, Waiting<T>>();
  /** Bytes of all events that are held back. Those of replaced events count, too, because they take memory. */
  #heldBytes = 0;
  #frames = new HeldFrames();
  /** Events that the reader gets now, and their frames. */
  #given: readonly Waiting<T>[] = [];
  #givenFrames = new HeldFrames();
  #at = 0;
  #isReleased = false;
  /** How the watch ended. The events that are held back are still passed on. */
  #end: { readonly error?: unknown } | undefined;
  #wakeReader: (() => void) | undefined;
  #settling: (() => void)[] = [];
  #isOver = false;
  isGiving = false;

  constructor(clock: Pick<Clock, "turnMs" | "sleep">, options: HeldOptions<T>) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Reads this watch when the reader iterates. It is called once, before. */
  follow(watch: Watch<T>): void {
    this.#watch = watch;
  }

  /** Holds back the event in a frame. The bytes are copied. */
  holdFrame(key: string, frame: Uint8Array): void {
    this.#hold(key, this.#frames.add(frame), frame.length);
    if (this.#heldBytes > MOST_HELD_BYTES) this.#release();
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
    this.#watch?.close();
    this.#finish({});
  }

  [Symbol.asyncIterator](): AsyncIterator<WatchEvent<T>> {
    const events = (this.#watch as Watch<T>)[Symbol.asyncIterator]();
    this.#collect(events).then(
      () => this.#finish({}),
      (error: unknown) => this.#finish({ error }),
    );
    return {
      next: () => this.#next(),
      return: async () => {
        this.#leave();
        await events.return?.();
        return { done: true, value: undefined };
      },
    };
  }

  async #collect(events: AsyncIterator<WatchEvent<T>>): Promise<void> {
    for (;;) {
      const { done, value } = await events.next();
      if (done === true) return;
      const event = value as WatchEvent<T>;
      // A bookmark and an error have no name. They stay behind the events before them.
      const isNamed = event.type !== "BOOKMARK" && event.type !== "ERROR";
      this.#hold(isNamed ? keyOf(event.object) : event.type, event, JSON_EVENT_BYTES);
      if (this.#heldBytes > MOST_HELD_BYTES || event.type === "ERROR") this.#release();
    }
  }

  #hold(key: string, event: Waiting<T>, bytes: number): void {
    this.#options.arrived();
    this.#held.delete(key);
    this.#held.set(key, event);
    this.#heldBytes += bytes;
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
    [this.#frames, this.#givenFrames] = [this.#givenFrames, this.#frames];
    this.#frames.clear();
    this.#held.clear();
    this.#heldBytes = 0;
    this.#isReleased = false;
  }

  #ended({ error }: { readonly error?: unknown }): IteratorResult<WatchEvent<T>> {
    this.#leave();
    if (error !== undefined) throw error;
    return { done: true, value: undefined };
  }

  #read(event: Waiting<T>): WatchEvent<T> {
    if (typeof event !== "number") return event;
    const frame = this.#givenFrames.at(event);
    try {
      return (this.#options.readFrame as ReadFrame<T>)(frame);
    } catch (error) {
      this.#leave();
      this.#watch?.close();
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
