/**
 * How far the planning pass under way has come: what the gauges of the scheduler's queue show. The last pass
 * stays to be seen, with nothing left to do, until the next one begins.
 * upstream: pkg/controllers/provisioning/scheduling/metrics.go
 */
import type { Clock } from "../../base/clock.ts";
import type { Sample } from "../../base/metrics.ts";
import type { Reader } from "../metrics/observer.ts";

export class Progress {
  readonly #clock: Clock;
  #passes = 0;
  #undecided = 0;
  #sinceMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(pods: number): void {
    this.#passes++;
    this.#undecided = pods;
    this.#sinceMs = this.#clock.now();
  }

  /** The plan is made; what it says is to be carried out. */
  decided(): void {
    this.#undecided = 0;
  }

  end(): void {
    this.#undecided = 0;
    this.#sinceMs = undefined;
  }

  readers(): readonly Reader[] {
    const seconds = () =>
      this.#sinceMs === undefined ? 0 : (this.#clock.now() - this.#sinceMs) / 1_000;
    return [
      ["scheduler_queue_depth", () => this.#one(this.#undecided)],
      ["scheduler_unfinished_work_seconds", () => this.#one(seconds())],
    ];
  }

  #one(value: number): readonly Sample[] {
    if (this.#passes === 0) return [];
    const labels = { controller: "provisioner", scheduling_id: String(this.#passes) };
    return [{ labels, value }];
  }
}
