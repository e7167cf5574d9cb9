/**
 * Joins requests that arrive shortly after each other into one call. A batch is sent after `idleMs` without a request,
 * after `maxMs` at the latest, or when it is full.
 * upstream: pkg/batcher
 */

import type { Clock, Timer } from "../../../base/clock.ts";
import { mustNotFail } from "../../../base/must-not-fail.ts";

/** How long a batch collects requests, and the call that it makes. */
export interface BatchOptions<I, O> {
  readonly clock: Clock;
  /** Called when a batch is sent: how long it was open, and its number of requests. */
  readonly onBatch?: (openMs: number, size: number) => void;
  readonly idleMs: number;
  readonly maxMs: number;
  readonly maxItems: number;
  /** Requests with an equal key share a batch. */
  readonly keyOf: (input: I) => string;
  /** The call. It returns one answer for each input, in order. If it throws, all requests of the batch fail. */
  readonly execute: (inputs: readonly I[]) => Promise<readonly (O | Error)[]>;
}

interface Waiting<I, O> {
  readonly input: I;
  readonly resolve: (output: O) => void;
  readonly reject: (error: unknown) => void;
}

interface Batch<I, O> {
  readonly waiting: Waiting<I, O>[];
  readonly startMs: number;
  timer: Timer | undefined;
}

/** Joins requests with an equal key; each caller gets its own part of the answer. */
export class RequestBatcher<I, O> {
  readonly #options: BatchOptions<I, O>;
  readonly #open = new Map<string, Batch<I, O>>();

  constructor(options: BatchOptions<I, O>) {
    this.#options = options;
  }

  ask(input: I): Promise<O> {
    const { clock, idleMs, maxMs, maxItems, keyOf } = this.#options;
    const key = keyOf(input);
    return new Promise<O>((resolve, reject) => {
      let batch = this.#open.get(key);
      if (batch === undefined) {
        batch = { waiting: [], startMs: clock.elapsedMs(), timer: undefined };
        this.#open.set(key, batch);
      }
      batch.waiting.push({ input, resolve, reject });
      batch.timer?.cancel();
      const full = batch.waiting.length >= maxItems;
      const leftMs = Math.max(0, batch.startMs + maxMs - clock.elapsedMs());
      const closing = batch;
      batch.timer = clock.after(full ? 0 : Math.min(idleMs, leftMs), () => {
        mustNotFail(this.#run(key, closing), "a batch of AWS calls");
      });
      // A full batch takes no more requests: the next one opens a new batch.
      if (full) this.#open.delete(key);
    });
  }

  async #run(key: string, batch: Batch<I, O>): Promise<void> {
    if (this.#open.get(key) === batch) this.#open.delete(key);
    const { clock, onBatch } = this.#options;
    try {
      onBatch?.(clock.elapsedMs() - batch.startMs, batch.waiting.length);
      const answers = await this.#options.execute(batch.waiting.map(({ input }) => input));
      for (const [at, { resolve, reject }] of batch.waiting.entries()) {
        const answer = answers[at];
        if (answer instanceof Error) reject(answer);
        else resolve(answer as O);
      }
    } catch (error) {
      for (const { reject } of batch.waiting) reject(error);
    }
  }
}
