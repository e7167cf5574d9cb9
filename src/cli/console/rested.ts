/**
 * Work that takes long is not done again and again: after T ms of work its answer stays for many times T.
 * So each kind of work takes a small share of a core at most, however large the cluster is.
 */
import { type Steps, stepRunner, timed } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";

/** After T ms of work its answer stays for so many times T: at most 2 % of a core. */
export const REST_FACTOR = 50;

/** No answer stays longer than this if something changed. */
const MOST_REST_MS = 600_000;

/** Others wait no longer than about this while work is done. */
const TURN_MS = 5;

const clock = new SystemClock();

/** Does work in turns, and measures what it takes of the process. */
export type Worker = <T>(steps: Steps<T>) => Promise<T>;

/** One kind of work. `do` answers what is known while it rests. */
export class Rested<T> {
  readonly #factor: number;
  readonly #tell: (ms: number) => void;
  #known: { readonly value: T; readonly untilMs: number } | undefined;
  #doing: Promise<T> | undefined;

  /** `factor`: 0 for a test that wants each answer anew. `tell` hears how long the work took, step by step. */
  constructor(factor = REST_FACTOR, tell: (ms: number) => void = () => undefined) {
    this.#factor = factor;
    this.#tell = tell;
  }

  do(work: (run: Worker) => Promise<T>): Promise<T> {
    if (this.#known !== undefined && clock.elapsedMs() < this.#known.untilMs)
      return Promise.resolve(this.#known.value);
    this.#doing ??= this.#work(work).finally(() => {
      this.#doing = undefined;
    });
    return this.#doing;
  }

  async #work(work: (run: Worker) => Promise<T>): Promise<T> {
    let spentMs = 0;
    const run = stepRunner(clock, TURN_MS);
    const value = await work(async (steps) => {
      const measured = timed(clock, steps, (ms) => {
        spentMs += ms;
        this.#tell(ms);
      });
      return run(measured);
    });
    const restMs = Math.min(MOST_REST_MS, this.#factor * spentMs);
    this.#known = { value, untilMs: clock.elapsedMs() + restMs };
    return value;
  }
}
