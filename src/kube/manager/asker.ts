/**
 * Asks for very many in answer to one event: all claims of a pool, say. They are asked for some at a time and others
 * have their turn in between. What has come of the same object meanwhile is asked for once more, from the start.
 */
import type { Clock } from "../../base/clock.ts";
import { besideOthers, type Steps } from "../../base/steps.ts";
import type { Request } from "./controller.ts";

/** Looked at, or put into a queue: a few microseconds each. */
const PER_STEP = 256;

/** Gone through when its turn comes. Undefined: one that was looked at and is not asked for. */
type Many = Iterable<Request | undefined>;

export class Asker {
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  readonly #add: (request: Request) => void;
  /** By what they are asked for about. */
  readonly #waiting = new Map<string, Many>();
  #isAsking = false;
  #isStopped = false;

  constructor(clock: Pick<Clock, "turnMs" | "sleep">, add: (request: Request) => void) {
    this.#clock = clock;
    this.#add = add;
  }

  /** `about`: who waits to be asked about the same is not asked about it twice. */
  ask(about: string, many: Many): void {
    this.#waiting.set(about, many);
    if (this.#isAsking) return;
    this.#isAsking = true;
    void besideOthers(this.#clock, this.#all());
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
        let looked = 0;
        for (const request of many) {
          if (this.#isStopped) return;
          if (request !== undefined) this.#add(request);
          if (++looked % PER_STEP === 0) yield;
        }
        yield;
      }
    } finally {
      this.#isAsking = false;
    }
  }
}
