/**
 * The progress of the current planning pass, for the gauges of the scheduler's queue. After a pass the gauges show it
 * as finished until the next one begins.
 * upstream: pkg/controllers/provisioning/scheduling/metrics.go
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Sample } from "../../base/metrics.ts";
import type { Reader } from "../metrics/observer.ts";
import type { World } from "../world.ts";

const CONTROLLER = "provisioner";

/** Provides the gauges of the current pass. */
export class PassProgress {
  readonly #world: Pick<World, "clock" | "cluster">;
  #passes = 0;
  #undecided = 0;
  #sinceMs: number | undefined;

  /** The zone that each pod of the last pass is restricted to. */
  zones: ReadonlyMap<Pod, string> = new Map();

  constructor(world: Pick<World, "clock" | "cluster">) {
    this.#world = world;
  }

  begin(pods: number): void {
    this.#passes++;
    this.#undecided = pods;
    this.#sinceMs = this.#world.clock.now();
  }

  /** Records that the plan is made and will now be carried out. */
  decided(): void {
    this.#undecided = 0;
  }

  end(): void {
    this.#undecided = 0;
    this.#sinceMs = undefined;
  }

  readers(): readonly Reader[] {
    const seconds = () =>
      this.#sinceMs === undefined ? 0 : (this.#world.clock.now() - this.#sinceMs) / 1_000;
    return [
      ["scheduler_queue_depth", () => this.#one(this.#undecided)],
      ["scheduler_unfinished_work_seconds", () => this.#one(seconds())],
      ["scheduler_pending_pods_by_effective_zone_count", () => this.#byZone()],
    ];
  }

  #one(value: number): readonly Sample[] {
    if (this.#passes === 0) return [];
    const labels = { controller: CONTROLLER, scheduling_id: String(this.#passes) };
    return [{ labels, value }];
  }

  /** The number of pending pods by zone. */
  *#byZone(): Iterable<Sample> {
    const waiting = new Set(this.#world.cluster.unboundPods().map(keyOf));
    const counts = new Map<string, number>();
    for (const [pod, zone] of this.zones)
      if (waiting.has(keyOf(pod))) counts.set(zone, (counts.get(zone) ?? 0) + 1);
    for (const [zone, value] of counts) yield { labels: { controller: CONTROLLER, zone }, value };
  }
}
