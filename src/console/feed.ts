/**
 * Sends views to all viewers, as patches of what each of them has. Without viewers nothing is read or
 * computed. A viewer that reads slowly gets nothing until it has read what was sent. Then one patch has all
 * changes.
 */
import type { Clock, Timer } from "../base/clock.ts";
import { firstLineOf } from "../base/error-text.ts";
import { mustNotFail } from "../base/must-not-fail.ts";
import { haveSameItems } from "../base/same-items.ts";
import { type Steps, stepRunner } from "../base/steps.ts";
import type { ConsoleScene, ConsoleSource } from "./source.ts";
import { costsView } from "./views/costs.ts";
import { decisionsView } from "./views/decisions.ts";
import { healthView } from "./views/health.ts";
import { mapViewInSteps } from "./views/map.ts";
import { historyView, moneyView, type PricePoint, pricePoint, withPoint } from "./views/money.ts";
import { nextView } from "./views/next.ts";
import { poolsView } from "./views/pools.ts";
import { patchText, type View, type Written, writtenInSteps } from "./views/view.ts";
import { vitalsView } from "./views/vitals.ts";
import { waitingView } from "./views/waiting.ts";

export const VIEWS = [
  "map",
  "money",
  "costs",
  "history",
  "decisions",
  "next",
  "waiting",
  "pools",
  "health",
  "vitals",
] as const;

export type ConsoleViewName = (typeof VIEWS)[number];

/** The destination of patches. */
export interface Sink {
  readonly isReady: boolean;
  send(event: string, data: string): void;
}

/** Shortest time between two updates, in milliseconds. Faster updates would not be noticed. */
const PACE_MS = 1_000;
/**
 * Shortest time between two updates while kinds are still being listed. Checking whether a list has arrived
 * costs nothing.
 */
const LOADING_PACE_MS = 200;
/** Views that can be shown before all kinds have been listed. */
const EARLY: ReadonlySet<ConsoleViewName> = new Set([
  "map",
  "history",
  "decisions",
  "health",
  "vitals",
]);
/** A view that took T ms to compute is computed again after this many times T. So views take at most 1 % of a core. */
const REST_FACTOR = 100;
/** Longest time between two updates, in milliseconds. Older data would mislead. */
const MOST_REST_MS = 10_000;
/** Longest work without a break, in milliseconds. Other requests wait at most about this long. */
const TURN_MS = 5;
/** How long watches stay open without a viewer, in milliseconds, so that a reloaded page finds them. */
const LINGER_MS = 60_000;

/** The parts of a clock that the feed needs. */
export type FeedClock = Pick<Clock, "after" | "elapsedMs" | "sleep" | "turnMs">;

interface Viewer {
  readonly views: readonly ConsoleViewName[];
  readonly sink: Sink;
  readonly has: Map<ConsoleViewName, Written>;
  clockSaid: number;
}

/** A view that can be made from these parts. If the parts are the same objects as before, so is the view. */
interface Making {
  /** Absent: the view is made for each scene. */
  readonly parts?: readonly unknown[];
  readonly make: () => Steps<View>;
}

/** A view, the scene for which it was last compared, and the parts that it was made from. */
interface Shown {
  readonly scene: ConsoleScene;
  readonly parts: readonly unknown[] | undefined;
  readonly now: Written;
}

function* inOneStep(make: () => View): Steps<View> {
  yield;
  return make();
}

function* writtenFrom({ make }: Making, before: Written | undefined): Steps<Written> {
  return yield* writtenInSteps(yield* make(), before);
}

export class ConsoleFeed {
  readonly #source: ConsoleSource;
  readonly #clock: FeedClock;
  readonly #viewers = new Set<Viewer>();
  #history: readonly PricePoint[] = [];
  /** The last computed lower bound of the cost. It is computed only while a viewer has the view `costs` open. */
  #least: number | undefined;
  #close: (() => void) | undefined;
  #timer: Timer | undefined;
  #lingering: Timer | undefined;
  #isReading = false;
  #readingMs = 0;
  /** Milliseconds of the last complete round, for people. */
  #lastReadingMs = 0;
  #scene: ConsoleScene | undefined;
  readonly #shown = new Map<ConsoleViewName, Shown>();
  /** Views that are being made. */
  readonly #making = new Map<ConsoleViewName, Promise<void>>();

  constructor(source: ConsoleSource, clock: FeedClock) {
    this.#source = source;
    this.#clock = clock;
  }

  /** Adds a viewer. Returns a function that removes it. */
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

  /** Answers a question, also for clients without an open stream. Opens the watches for some time. */
  async ask<T>(question: (scene: ConsoleScene) => T | Promise<T>): Promise<T> {
    if (this.#scene !== undefined && this.#viewers.size > 0) return question(this.#scene);
    this.#keepOpen();
    return question(await this.#source.scene());
  }

  /** Reads the cluster and makes the map as for a first viewer: what a page shows first, then the rest. */
  async warm(): Promise<void> {
    this.#keepOpen();
    const scene = await this.#source.scene({ early: true });
    await this.#begin("map", scene);
    // The views of a viewer that came meanwhile go first. The rest is read after them.
    if (this.#viewers.size === 0) await (await this.#source.scene()).fleet();
  }

  #keepOpen(): void {
    this.#close ??= this.#source.open();
    this.#lingering?.cancel();
    if (this.#viewers.size === 0)
      this.#lingering = this.#clock.after(LINGER_MS, () => this.close());
  }

  close(): void {
    this.#timer?.cancel();
    this.#lingering?.cancel();
    this.#close?.();
    this.#close = undefined;
    this.#scene = undefined;
    this.#shown.clear();
    // Old points are dropped. Otherwise the charts would draw a line over the time in which nobody viewed the page.
    this.#history = [];
    this.#least = undefined;
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
    this.#lastReadingMs = this.#readingMs;
    this.#readingMs = 0;
    try {
      const scene = await this.#source.scene({ early: true });
      if (this.#scene !== scene) {
        this.#scene = scene;
        mustNotFail(this.#remember(scene), "keeping a price");
      }
      this.#show(scene);
      if (scene.loading !== undefined) mustNotFail(this.#complete(), "reading the rest");
    } catch (error) {
      this.#tell(error);
    }
    this.#isReading = false;
    const restMs = Math.min(MOST_REST_MS, REST_FACTOR * this.#readingMs);
    const isLoading = this.#scene?.loading !== undefined;
    if (this.#viewers.size > 0) this.#soon(isLoading ? LOADING_PACE_MS : Math.max(PACE_MS, restMs));
  }

  /** Reads what an early scene lacks. It waits for the views of that scene, because it would delay them. */
  async #complete(): Promise<void> {
    await Promise.all(this.#making.values());
    await this.#source.scene().catch((error: unknown) => this.#tell(error));
  }

  #tell(error: unknown): void {
    const problem = JSON.stringify({ says: firstLineOf(error) });
    for (const { sink } of this.#viewers) if (sink.isReady) sink.send("problem", problem);
  }

  async #remember(scene: ConsoleScene): Promise<void> {
    const fleet = await scene.fleet().catch(() => undefined);
    if (fleet === undefined || this.#close === undefined) return;
    this.#history = withPoint(this.#history, pricePoint(fleet, scene.nowMs, this.#least));
  }

  /** Sends each view when it is ready, so that a slow view does not delay the others. */
  #show(scene: ConsoleScene): void {
    for (const name of VIEWS) {
      if (![...this.#viewers].some(({ views }) => views.includes(name))) continue;
      if (scene.loading !== undefined && !EARLY.has(name)) continue;
      if (this.#shown.get(name)?.scene === scene) this.#send(name);
      else mustNotFail(this.#begin(name, scene), `making ${name}`);
    }
    for (const viewer of this.#viewers) {
      if (!viewer.sink.isReady || viewer.clockSaid === scene.nowMs) continue;
      viewer.sink.send("clock", JSON.stringify({ nowMs: scene.nowMs }));
      viewer.clockSaid = scene.nowMs;
    }
  }

  /** Makes the view, unless it is being made. */
  #begin(name: ConsoleViewName, scene: ConsoleScene): Promise<void> {
    let making = this.#making.get(name);
    if (making === undefined) {
      making = this.#make(name, scene);
      this.#making.set(name, making);
    }
    return making;
  }

  async #make(name: ConsoleViewName, scene: ConsoleScene): Promise<void> {
    try {
      const making = await this.#viewOf(name, scene);
      const { parts } = making;
      const shown = this.#shown.get(name);
      const isSame =
        shown?.parts !== undefined && parts !== undefined && haveSameItems(parts, shown.parts);
      const now = isSame ? shown.now : await this.#run(writtenFrom(making, shown?.now));
      // The watches may have been closed meanwhile. Then the next viewer gets a new view.
      if (this.#close === undefined) return;
      const begunMs = this.#clock.elapsedMs();
      this.#shown.set(name, { scene, parts, now });
      this.#send(name);
      this.#worked(this.#clock.elapsedMs() - begunMs);
    } catch (error) {
      this.#tell(error);
    } finally {
      this.#making.delete(name);
    }
  }

  #send(name: ConsoleViewName): void {
    const now = this.#shown.get(name)?.now;
    if (now === undefined) return;
    for (const { views, sink, has } of this.#viewers) {
      if (!views.includes(name) || !sink.isReady) continue;
      const patch = patchText(has.get(name), now);
      has.set(name, now);
      if (patch !== undefined) sink.send(name, patch);
    }
  }

  /** Does work on many rows, with pauses for other work. Its time counts as time spent on the views. */
  async #run<T>(steps: Steps<T>): Promise<T> {
    const tell = (ms: number): void => this.#worked(ms);
    return stepRunner(this.#clock, TURN_MS, { clock: this.#clock, tell })(steps);
  }

  #worked(ms: number): void {
    this.#readingMs += ms;
    this.#source.worked?.(ms);
  }

  /** Waits for the parts of a view. */
  async #viewOf(name: ConsoleViewName, scene: ConsoleScene): Promise<Making> {
    switch (name) {
      case "map": {
        const fleet = await scene.fleet();
        const [moves, room] = [await scene.moves(), await scene.room()];
        const { loading } = scene;
        const parts = [fleet.nodes, fleet.totals, moves, room, loading];
        return { parts, make: () => mapViewInSteps(fleet, { moves, room, loading }) };
      }
      case "money": {
        const fleet = await scene.fleet();
        return madeOf([fleet.nodes, fleet.totals], () => moneyView(fleet));
      }
      case "costs": {
        const costs = await scene.costs();
        this.#least = costs.leastMicroUsdPerHour;
        return { make: () => inOneStep(() => costsView(costs, scene.notes)) };
      }
      case "history": {
        const history = this.#history;
        return madeOf([history], () => historyView(history));
      }
      case "decisions":
        return madeOf([scene.events], () => decisionsView(scene.events));
      case "next": {
        const next = await scene.next();
        return madeOf([next], () => nextView(next));
      }
      case "waiting": {
        const [fleet, unplaced] = [await scene.fleet(), await scene.unplaced()];
        return madeOf([fleet.waiting, fleet.totals, unplaced], () => waitingView(fleet, unplaced));
      }
      case "pools": {
        const pools = await scene.pools();
        return madeOf([pools], () => poolsView(pools));
      }
      case "health": {
        const make = () => healthView(scene, Math.round(this.#lastReadingMs), this.#viewers.size);
        return { make: () => inOneStep(make) };
      }
      case "vitals": {
        const vitals = this.#source.vitals?.();
        return madeOf([vitals], () => vitalsView(vitals));
      }
    }
  }
}

function madeOf(parts: readonly unknown[], make: () => View): Making {
  return { parts, make: () => inOneStep(make) };
}
