/**
 * Queues very many objects for one event, such as all claims of a pool. Some are queued in each step, so that other
 * work runs between. If the same object changes again meanwhile, its list starts anew. An error in one list does not
 * stop the others; nothing is thrown, because nobody would catch it.
 */

import type { Clock } from "../../base/clock.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { besideOthers, type Steps } from "../../base/steps.ts";
import type { Request } from "./controller.ts";

/** Looked at, or put into a queue: a few microseconds each. */
const PER_STEP = 256;

/**
 * Gone through when its turn comes. Undefined: one that was looked at and is not asked for. Where it throws, it is asked
 * for the next: a generator is at its end then.
 */
type Many = Iterable<Request | undefined>;

/** Called with the number of failed requests for one event, and the first error. */
type OnFailure = (about: string, failures: number, first: unknown) => void;

/** Queues many objects for one event, some in each step, so that other work runs between. */
export class Asker {
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #add: (request: Request) => void;
  readonly #onFailure: OnFailure;
  /** By what they are asked for about. */
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

  /** `about`: who waits to be asked about the same is not asked about it twice. */
  ask(about: string, many: Many): void {
    this.#waiting.set(about, many);
    if (this.#isAsking) return;
    this.#isAsking = true;
    const rest = besideOthers(this.#clock, this.#all());
    if (rest !== undefined) mustNotFail(rest, "asking controllers");
  }

  /** Asks for no more. */
  stop(): void {
    this.#waiting.clear();
    this.#isStopped = true;
  }

  *#all(): Steps<void> {
    try {
      // More may come while this goes on.
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
