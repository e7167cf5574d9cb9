/**
 * Queues very many requests for one event, such as those for all claims of a pool. Each step queues some, so that other
 * work runs in between. If the same object changes meanwhile, its list is started again. An error in one list does not
 * stop the others, and is reported instead of thrown.
 */

import type { Clock } from "../../base/clock.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { besideOthers, type Steps } from "../../base/steps.ts";
import type { Request } from "./controller.ts";

/** Number of requests in one step. Each takes a few microseconds. */
const PER_STEP = 256;

/**
 * The requests of one event, computed only when needed. An item is undefined if the visited object needs no
 * request. If reading an item throws, the next item is read. A generator has no next item after it throws.
 */
type Many = Iterable<Request | undefined>;

/** Called with the number of failed requests for one event, and the first error. */
type OnFailure = (about: string, failures: number, first: unknown) => void;

/** Queues the requests of many events in steps. */
export class Asker {
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #add: (request: Request) => void;
  readonly #onFailure: OnFailure;
  /** Lists that are not complete yet, by the object of their event. */
  readonly #waiting = new Map<string, Many>();
  #isAsking = false;
  #isStopped = false;

  constructor(
    clock: Pick<Clock, "turnMs" | "sleep">,
    add: (request: Request) => void,
    onFailure: OnFailure,
  ) {
    this.#clock = clock;
    this.#add = add;
    this.#onFailure = onFailure;
  }

  /**
   * Adds a list. `about`: identifies the object of the event. A list for the same object that still waits is replaced.
   */
  ask(about: string, many: Many): void {
    this.#waiting.set(about, many);
    if (this.#isAsking) return;
    this.#isAsking = true;
    const rest = besideOthers(this.#clock, this.#all());
    if (rest !== undefined) mustNotFail(rest, "asking controllers");
  }

  /** Stops the queueing of requests. */
  stop(): void {
    this.#waiting.clear();
    this.#isStopped = true;
  }

  *#all(): Steps<void> {
    try {
      // Lists may be added during this loop.
      for (const [about, many] of this.#waiting) {
        this.#waiting.delete(about);
        yield* this.#each(about, many);
        if (this.#isStopped) return;
        yield;
      }
    } finally {
      this.#isAsking = false;
    }
  }

  *#each(about: string, many: Many): Steps<void> {
    const rest = many[Symbol.iterator]();
    const errors: unknown[] = [];
    for (let looked = 1; !this.#isStopped; looked++) {
      try {
        const { done, value: request } = rest.next();
        if (done === true) break;
        if (request !== undefined) this.#add(request);
      } catch (error) {
        errors.push(error);
      }
      if (looked % PER_STEP === 0) yield;
    }
    if (errors.length > 0) this.#onFailure(about, errors.length, errors[0]);
  }
}
