/**
 * Limits slow computations: after T ms of work the result is reused for many times T. So each kind of work takes a
 * small share of a core, however large the cluster is.
 */
import type { Clock } from "../../base/clock.ts";
import { type StepRunner, stepRunner } from "../../base/steps.ts";
import { SystemClock } from "../../base/system-clock.ts";

/** The result is reused for this many times the computing time, so at most 1 % of a core is used. */
export const REST_FACTOR = 100;

/** The longest time that a result is reused, in milliseconds. */
const MOST_REST_MS = 600_000;

/** Milliseconds after which other work may run. */
const TURN_MS = 5;

const clock = new SystemClock();

/**
 * Processor time of this process, in milliseconds. Pauses depend on it. On a busy machine work also waits for the
 * processor, so pauses measured by the clock would be many times longer.
 */
export const PROCESSOR: Pick<Clock, "elapsedMs"> = {
  elapsedMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};

/** One kind of computation. `do` returns the last result while it pauses. */
export class Rested<T> {
  readonly #factor: number;
  readonly #tell: (ms: number) => void;
  #known: { readonly value: T; readonly untilMs: number } | undefined;
  #doing: Promise<T> | undefined;

  /**
   * `factor`: the pause as a multiple of the time that the work took. 0 computes each result again, for tests. `tell`
   * is called with the milliseconds of each turn.
   */
  constructor(factor = REST_FACTOR, tell: (ms: number) => void = () => undefined) {
    this.#factor = factor;
    this.#tell = tell;
  }

  do(work: (run: StepRunner) => Promise<T>): Promise<T> {
    if (this.#known !== undefined && clock.elapsedMs() < this.#known.untilMs)
      return Promise.resolve(this.#known.value);
    this.#doing ??= this.#work(work).finally(() => {
      this.#doing = undefined;
    });
    return this.#doing;
  }

  async #work(work: (run: StepRunner) => Promise<T>): Promise<T> {
    let spentMs = 0;
    const tell = (ms: number): void => {
      spentMs += ms;
      this.#tell(ms);
    };
    const value = await work(stepRunner(clock, TURN_MS, { clock: PROCESSOR, tell }));
    const restMs = Math.min(MOST_REST_MS, this.#factor * spentMs);
    this.#known = { value, untilMs: clock.elapsedMs() + restMs };
    return value;
  }
}
