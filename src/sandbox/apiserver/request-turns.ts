/**
 * Lets the event loop run between requests from this process: those of the scheduler, the kubelets, the controllers.
 * They come without a socket, and each causes others. Without pauses, 900 new pods held the event loop for up to a
 * minute. In that time, kubectl, the console and a Karpenter in another process had no answer. Requests of these come
 * through sockets, so they need no turns.
 */
import type { Clock } from "../../base/clock.ts";
import { mustNotFail } from "../../base/must-not-fail.ts";
import { turnIsOver } from "../../base/steps.ts";

/** Lets requests through in their order, one at a time, and none after the turn of the event loop is over. */
export class RequestTurns {
  readonly #clock: Pick<Clock, "turnMs" | "sleep">;
  /** Each sends a request. The promise is settled with the answer and never rejects. */
  readonly #waiting: (() => Promise<unknown>)[] = [];
  /** The number of requests that were sent at once and have no answer yet. */
  #unanswered = 0;
  #isLetting = false;

  constructor(clock: Pick<Clock, "turnMs" | "sleep">) {
    this.#clock = clock;
  }

  /** Calls `send`, at once if no other request is in the way. On a virtual clock none ever is. */
  take<T>(send: () => Promise<T>): Promise<T> {
    if (!this.#mustWait()) {
      this.#unanswered++;
      const answer = send();
      answer.then(this.#answered, this.#answered);
      return answer;
    }
    return new Promise((resolve) => {
      this.#waiting.push(() => {
        const answer = send();
        resolve(answer);
        return answer.then(nothing, nothing);
      });
      if (!this.#isLetting) mustNotFail(this.#letThrough(), "requests in turns");
    });
  }

  readonly #answered = (): void => {
    this.#unanswered--;
  };

  #mustWait(): boolean {
    if (this.#waiting.length > 0 || this.#isLetting) return true;
    // Most of the work for a request is done after `send` has returned, so the time of the turn does not show it yet.
    return this.#unanswered > 0 ? this.#clock.turnMs() > 0 : turnIsOver(this.#clock);
  }

  async #letThrough(): Promise<void> {
    const clock = this.#clock;
    this.#isLetting = true;
    while (this.#waiting.length > 0) {
      await clock.sleep(0);
      // At least one request, so that requests also proceed late in a turn. A request may wait for a webhook, which may
      // send requests itself. So nothing waits for an answer longer than this turn.
      do await Promise.race([this.#waiting.shift()?.(), clock.sleep(0)]);
      while (this.#waiting.length > 0 && !turnIsOver(clock));
    }
    this.#isLetting = false;
  }
}

function nothing(): void {
  // Whoever sent the request handles its failure.
}
