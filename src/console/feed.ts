/**
 * Sends views to those who look, as patches of what each has. While nobody looks nothing is read or worked out.
 * A viewer that reads slowly is passed over until it has taken what it was sent. Then one patch has all changes.
 */
import type { Clock, Timer } from "../base/clock.ts";
import { firstLineOf } from "../base/error-text.ts";
import { mustNotFail } from "../base/must-not-fail.ts";
import type { ConsoleScene, ConsoleSource } from "./source.ts";
import { decisionsView } from "./views/decisions.ts";
import { healthView } from "./views/health.ts";
import { mapView } from "./views/map.ts";
import { historyView, moneyView, type PricePoint, pricePoint, withPoint } from "./views/money.ts";
import { poolsView } from "./views/pools.ts";
import { patchText, type View, type Written, written } from "./views/view.ts";
import { waitingView } from "./views/waiting.ts";

export const VIEWS = [
  "map",
  "money",
  "history",
  "decisions",
  "waiting",
  "pools",
  "health",
] as const;

export type ConsoleViewName = (typeof VIEWS)[number];

/** Where patches go. */
export interface Sink {
  readonly isReady: boolean;
  send(event: string, data: string): void;
}

/** The time between two readings, at least: people do not read faster. */
const PACE_MS = 1_000;
/** Views that took T ms to make are made anew after so many times T: they take at most 5 % of a core. */
const REST_FACTOR = 20;
/** A page that is older says nothing of now. */
const MOST_REST_MS = 10_000;
/** Watches stay open so long without a viewer: a page that is loaded anew finds them. */
const LINGER_MS = 60_000;

interface Viewer {
  readonly views: readonly ConsoleViewName[];
  readonly sink: Sink;
  readonly has: Map<ConsoleViewName, Written>;
  clockSaid: number;
}

/** A scene, and what was worked out of it so far. */
interface Shown {
  readonly scene: ConsoleScene;
  readonly views: Map<ConsoleViewName, Written>;
}

export class Feed {
  readonly #source: ConsoleSource;
  readonly #clock: Pick<Clock, "after" | "elapsedMs">;
  readonly #viewers = new Set<Viewer>();
  #history: readonly PricePoint[] = [];
  #close: (() => void) | undefined;
  #timer: Timer | undefined;
  #lingering: Timer | undefined;
  #isReading = false;
  #readingMs = 0;
  #shown: Shown | undefined;

  constructor(source: ConsoleSource, clock: Pick<Clock, "after" | "elapsedMs">) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Returns "looks no more". */
  watch(views: readonly ConsoleViewName[], sink: Sink): () => void {
    const viewer: Viewer = { views, sink, has: new Map(), clockSaid: 0 };
    this.#viewers.add(viewer);
    this.#lingering?.cancel();
    this.#close ??= this.#source.open();
    this.#soon(0);
    return () => {
      if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
      this.#timer?.cancel();
      this.#lingering = this.#clock.after(LINGER_MS, () => this.close());
    };
  }

  /** A question of somebody who may have no stream open. Opens the watches for a while. */
  async ask<T>(question: (scene: ConsoleScene) => T): Promise<T> {
    if (this.#shown !== undefined && this.#viewers.size > 0) return question(this.#shown.scene);
    this.#close ??= this.#source.open();
    this.#lingering?.cancel();
    if (this.#viewers.size === 0)
      this.#lingering = this.#clock.after(LINGER_MS, () => this.close());
    return question(await this.#source.scene());
  }

  close(): void {
    this.#timer?.cancel();
    this.#lingering?.cancel();
    this.#close?.();
    this.#close = undefined;
    this.#shown = undefined;
    // A gap in which nobody looked must not be drawn as if somebody had.
    this.#history = [];
  }

  #soon(afterMs: number): void {
    if (this.#isReading) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(afterMs, () =>
      mustNotFail(this.#round(), "showing the cluster"),
    );
  }

  async #round(): Promise<void> {
    this.#isReading = true;
    try {
      const scene = await this.#source.scene();
      // Of the wait for the scene most is others' work.
      const begunMs = this.#clock.elapsedMs();
      this.#show(scene);
      this.#readingMs = this.#clock.elapsedMs() - begunMs;
    } catch (error) {
      const problem = JSON.stringify({ says: firstLineOf(error) });
      for (const { sink } of this.#viewers) if (sink.isReady) sink.send("problem", problem);
    }
    this.#isReading = false;
    const restMs = Math.min(MOST_REST_MS, REST_FACTOR * this.#readingMs);
    if (this.#viewers.size > 0) this.#soon(Math.max(PACE_MS, restMs));
  }

  #show(scene: ConsoleScene): void {
    if (this.#shown?.scene !== scene) {
      this.#shown = { scene, views: new Map() };
      this.#history = withPoint(this.#history, pricePoint(scene.fleet(), scene.nowMs));
    }
    for (const viewer of this.#viewers) {
      if (!viewer.sink.isReady) continue;
      for (const name of viewer.views) this.#send(viewer, name, this.#shown);
      if (viewer.clockSaid !== scene.nowMs)
        viewer.sink.send("clock", JSON.stringify({ nowMs: scene.nowMs }));
      viewer.clockSaid = scene.nowMs;
    }
  }

  #send({ has, sink }: Viewer, name: ConsoleViewName, shown: Shown): void {
    let now = shown.views.get(name);
    if (now === undefined) {
      now = written(this.#viewOf(name, shown.scene));
      shown.views.set(name, now);
    }
    const patch = patchText(has.get(name), now);
    has.set(name, now);
    if (patch !== undefined) sink.send(name, patch);
  }

  #viewOf(name: ConsoleViewName, scene: ConsoleScene): View {
    switch (name) {
      case "map":
        return mapView(scene.fleet());
      case "money":
        return moneyView(scene.fleet());
      case "history":
        return historyView(this.#history);
      case "decisions":
        return decisionsView(scene.events, scene.next());
      case "waiting":
        return waitingView(scene.fleet(), scene.unplaced());
      case "pools":
        return poolsView(scene.pools());
      case "health":
        return healthView(scene, Math.round(this.#readingMs), this.#viewers.size);
    }
  }
}
