import { describe, expect, it } from "vitest";
import { VirtualClock } from "../base/virtual-clock.ts";
import type { CommandAnswer } from "../core/answers/command-answer.ts";
import type { Fleet, FleetNode } from "../core/answers/fleet.ts";
import { NO_MOVES } from "../core/answers/moves-under-way.ts";
import { ConsoleFeed } from "./feed.ts";
import type { ConsoleScene, ConsoleSource } from "./source.ts";
import type { HealthHead } from "./views/health.ts";

const FLEET: Fleet = {
  at: "2026-01-01T00:00:00Z",
  nodes: [],
  pools: [],
  waiting: [],
  totals: {
    nodes: 0,
    pods: 0,
    waiting: 0,
    allocatable: {},
    requested: {},
    priceMicroUsdPerHour: 0,
    unpriced: 0,
  },
};

const NO_ROOM: ReadonlyMap<string, number> = new Map();

class FakeSource implements ConsoleSource {
  readonly name = "fake";
  readonly mode = "cluster";
  readonly acts = [];
  readonly act = () => Promise.resolve("");
  isOpen = false;
  readings = 0;
  /** If set, all scenes have this fleet. */
  fleet: Fleet | undefined;
  poolsAsked = 0;
  pods = 0;
  problem: string | undefined;
  next: Promise<readonly CommandAnswer[]> = Promise.resolve([]);
  loading: readonly string[] | undefined;
  wholeAsked: () => void = () => undefined;
  room: Promise<ReadonlyMap<string, number>> = Promise.resolve(NO_ROOM);

  open(): () => void {
    this.isOpen = true;
    return () => {
      this.isOpen = false;
    };
  }

  scene({ early = false } = {}): Promise<ConsoleScene> {
    if (!early) this.wholeAsked();
    this.readings += 1;
    if (this.problem !== undefined) return Promise.reject(new Error(this.problem));
    const totals = { ...FLEET.totals, pods: this.pods };
    const fleet = this.fleet ?? { ...FLEET, totals };
    return Promise.resolve({
      nowMs: this.readings,
      notes: [],
      events: [],
      ...(this.loading === undefined ? {} : { loading: this.loading }),
      fleet: async () => fleet,
      moves: async () => NO_MOVES,
      room: () => this.room,
      pools: async () => {
        this.poolsAsked += 1;
        return [];
      },
      next: () => this.next,
      costs: async () => ({ workloads: [] }),
      unplaced: async () => [],
      nodes: async () => ({ total: 0, rows: {} }),
      explain: async ({ name }) => ({ says: name }),
      simulate: async () => ({}),
      editable: async () => ({ pools: [], workloads: [], types: [] }),
      poolProblems: () => [],
    });
  }
}

class FakeSink {
  isReady = true;
  readonly sent: [event: string, data: unknown][] = [];

  send(event: string, data: string): void {
    this.sent.push([event, JSON.parse(data)]);
  }

  of(event: string): unknown[] {
    return this.sent.filter(([name]) => name === event).map(([, data]) => data);
  }
}

function start() {
  const clock = new VirtualClock();
  const source = new FakeSource();
  return { clock, source, feed: new ConsoleFeed(source, clock), sink: new FakeSink() };
}

describe("the feed of console views", () => {
  it("reads nothing without viewers, and closes its watches a minute after the last viewer left", async () => {
    const { clock, source, feed, sink } = start();
    await clock.advance(60_000);
    expect([source.readings, source.isOpen]).toEqual([0, false]);
    const stop = feed.watch(["map"], sink);
    await clock.advance(5_000);
    expect(source.readings).toBeGreaterThanOrEqual(5);
    stop();
    const { readings } = source;
    await clock.advance(59_000);
    expect([source.readings, source.isOpen]).toEqual([readings, true]);
    await clock.advance(2_000);
    expect(source.isOpen).toBe(false);
  });

  it("computes only views that somebody watches", async () => {
    const { clock, source, feed, sink } = start();
    feed.watch(["map"], sink);
    await clock.advance(3_000);
    expect(source.poolsAsked).toBe(0);
    feed.watch(["pools"], new FakeSink());
    await clock.advance(2_000);
    expect(source.poolsAsked).toBeGreaterThan(0);
  });

  it("skips a viewer that reads slowly, and then sends it one patch with all changes", async () => {
    const { clock, source, feed, sink } = start();
    feed.watch(["map"], sink);
    await clock.advance(500);
    sink.isReady = false;
    for (let at = 1; at <= 5; at++) {
      source.pods = at;
      await clock.advance(1_000);
    }
    expect(sink.of("map")).toHaveLength(1);
    sink.isReady = true;
    await clock.advance(1_000);
    expect(sink.of("map")).toHaveLength(2);
    expect(sink.of("map")[1]).toMatchObject({ head: { pods: 5 } });
  });

  it("makes no view again whose parts are the same objects, and sends the whole to a new viewer", async () => {
    const { clock, source, feed, sink } = start();
    let asked = 0;
    const counted = {
      name: "a",
      state: "running",
      pods: 3,
      allocatable: {},
      get requested() {
        asked += 1;
        return {};
      },
    };
    source.fleet = { ...FLEET, nodes: [counted as unknown as FleetNode] };
    feed.watch(["money"], sink);
    await clock.advance(500);
    const askedOnce = asked;
    source.fleet = { ...source.fleet, at: "2026-01-01T00:01:00Z" };
    await clock.advance(3_000);
    expect(asked).toBe(askedOnce);
    const late = new FakeSink();
    feed.watch(["money"], late);
    await clock.advance(1_000);
    expect(late.of("money")).toEqual(sink.of("money"));
    source.fleet = { ...source.fleet, nodes: [...source.fleet.nodes] };
    await clock.advance(2_000);
    expect(asked).toBeGreaterThan(askedOnce);
  });

  it("sends a finished view while another view is still computed", async () => {
    const { clock, source, feed, sink } = start();
    let come: (next: readonly CommandAnswer[]) => void = () => undefined;
    source.next = new Promise((resolve) => {
      come = resolve;
    });
    feed.watch(["map", "next"], sink);
    await clock.advance(500);
    source.pods = 7;
    await clock.advance(2_000);
    expect(sink.of("map").at(-1)).toMatchObject({ head: { pods: 7 } });
    expect(sink.of("next")).toEqual([]);
    come([]);
    await clock.advance(2_000);
    expect(sink.of("next")).toHaveLength(1);
  });

  it("shows nodes while pods are listed, and other views soon after that", async () => {
    const { clock, source, feed, sink } = start();
    source.loading = ["pods"];
    feed.watch(["map", "money"], sink);
    await clock.advance(500);
    expect(sink.of("map")).toMatchObject([{ head: { loading: ["pods"] } }]);
    expect(sink.of("money")).toEqual([]);
    source.loading = undefined;
    await clock.advance(300);
    expect(sink.of("map").at(-1)).not.toHaveProperty("head.loading");
    expect(sink.of("money")).toHaveLength(1);
  });

  it("has the rest read only after nodes were sent", async () => {
    const { clock, source, feed, sink } = start();
    source.loading = ["pods"];
    let release = (): void => undefined;
    source.room = new Promise((resolve) => {
      release = () => resolve(NO_ROOM);
    });
    const sentBefore: number[] = [];
    source.wholeAsked = () => sentBefore.push(sink.of("map").length);
    feed.watch(["map"], sink);
    // Several rounds pass while the map is being made.
    await clock.advance(900);
    expect(sentBefore).toEqual([]);
    release();
    await clock.advance(500);
    expect(sentBefore[0]).toBe(1);
  });

  it("reads what a first viewer needs, then the rest, when it is warmed up", async () => {
    const { source, feed } = start();
    source.loading = ["pods"];
    const readBefore: number[] = [];
    source.wholeAsked = () => readBefore.push(source.readings);
    await feed.warm();
    expect(readBefore).toEqual([1]);
    expect(source.isOpen).toBe(true);
    feed.close();
  });

  it("has the map ready for the first viewer after it was warmed up", async () => {
    const { clock, source, feed, sink } = start();
    const scene = await source.scene({ early: true });
    source.scene = async () => scene;
    await feed.warm();
    // From now on, no map can be made.
    source.room = new Promise(() => undefined);
    feed.watch(["map"], sink);
    await clock.advance(0);
    expect(sink.of("map")).toMatchObject([{ whole: true, head: { nodes: 0 } }]);
    feed.close();
  });

  it("tells how long the views of the last round took", async () => {
    const { clock, source, sink } = start();
    let spentMs = 0;
    const busy = {
      after: clock.after.bind(clock),
      sleep: clock.sleep.bind(clock),
      elapsedMs: () => clock.elapsedMs() + spentMs,
      turnMs: () => 0,
    };
    const feed = new ConsoleFeed(source, busy);
    // The view of the pools takes 7 ms to send. It is sent once, because it does not change.
    const slow = {
      isReady: true,
      send: (event: string, data: string) => {
        if (event === "pools") spentMs += 7;
        sink.send(event, data);
      },
    };
    feed.watch(["health", "pools"], slow);
    await clock.advance(2_500);
    const took = sink.of("health").map((patch) => (patch as { head: HealthHead }).head.readingMs);
    expect(took).toEqual([0, 7, 0]);
    feed.close();
  });

  it("reports a failed reading, keeps the earlier views, and continues", async () => {
    const { clock, source, feed, sink } = start();
    feed.watch(["map"], sink);
    await clock.advance(500);
    source.problem = "the API server does not answer";
    await clock.advance(1_000);
    expect(sink.of("problem").at(-1)).toEqual({ says: "the API server does not answer" });
    source.problem = undefined;
    source.pods = 3;
    await clock.advance(2_000);
    expect(sink.of("map").at(-1)).toMatchObject({ head: { pods: 3 } });
  });

  it("answers a question without an open stream", async () => {
    const { feed } = start();
    const question = { kind: "node", name: "a", namespace: "" };
    expect(await feed.ask((scene) => scene.explain(question))).toEqual({ says: "a" });
  });
});
