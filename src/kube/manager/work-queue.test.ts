import { describe, expect, it } from "vitest";
import type { Clock } from "../../base/clock.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { AWAIT_CHANGE, type Outcome, requeueAfter } from "./controller.ts";
import { WorkQueue } from "./work-queue.ts";

function queue(
  work: (item: string) => Promise<Outcome>,
  options: { concurrency?: number; jitter?: () => number } = {},
) {
  const clock = new VirtualClock(0);
  const log: string[] = [];
  const queued = new WorkQueue<string>({
    clock,
    concurrency: 1,
    ...options,
    keyOf: (item) => item,
    work: (item) => {
      log.push(`${clock.now()} ${item}`);
      return work(item);
    },
    onError: (_, error) => {
      const { message } = error as Error;
      if (message === "give up") return "never";
      return message === "too late" ? "soon" : "later";
    },
    backoffMs: { base: 1_000, max: 4_000 },
  });
  return { clock, log, queue: queued };
}

/** A clock that stands still during a turn of the event loop. `sleeps`: the functions that start the next turn. */
function clockOfTurns(turnMs: () => number) {
  const clock = new VirtualClock(0);
  const sleeps: (() => void)[] = [];
  const turns: Clock = {
    now: () => 0,
    elapsedMs: () => 0,
    after: (delayMs, callback) => clock.after(delayMs, callback),
    sleep: () => new Promise((resolve) => sleeps.push(resolve)),
    turnMs,
  };
  return { clock, turns, sleeps };
}

describe("work queue", () => {
  it("works on an item once, however often it was added while queued", async () => {
    const { clock, log, queue: q } = queue(async () => AWAIT_CHANGE);
    q.add("a");
    q.add("b");
    q.add("a");
    await clock.settle();
    expect(log).toEqual(["0 a", "0 b"]);
  });

  it("works again on an item added during its work, never on both at the same time", async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const {
      clock,
      log,
      queue: q,
    } = queue(
      async () => {
        await gate;
        return AWAIT_CHANGE;
      },
      { concurrency: 5 },
    );
    q.add("a");
    await clock.settle();
    q.add("a");
    q.add("a");
    await clock.settle();
    expect(log).toEqual(["0 a"]);
    release();
    await clock.settle();
    expect(log).toEqual(["0 a", "0 a"]);
  });

  it("retries an item that came too late after 0.1 s to 1 s, without counting a failure", async () => {
    let tries = 0;
    const {
      clock,
      log,
      queue: q,
    } = queue(async () => {
      tries++;
      if (tries <= 7) throw new Error("too late");
      if (tries === 8) throw new Error("failed");
      return AWAIT_CHANGE;
    });
    q.add("a");
    await clock.advance(20_000);
    expect(log).toEqual(
      [0, 100, 300, 700, 1_500, 2_500, 3_500, 4_500, 5_500].map((atMs) => `${atMs} a`),
    );
  });

  it("spreads the retries of 50 items that came too late, without longer waits", async () => {
    const random = new Random("races");
    const jitter = () => random.fraction();
    const {
      clock,
      log,
      queue: q,
    } = queue(
      async (item) => {
        if (log.filter((line) => line.endsWith(` ${item}`)).length < 9) throw new Error("too late");
        return AWAIT_CHANGE;
      },
      { concurrency: 50, jitter },
    );
    for (let item = 0; item < 50; item++) q.add(`i${item}`);
    await clock.advance(5_500);
    const last = log.slice(-50).map((line) => Number(line.split(" ")[0]));
    expect(log).toHaveLength(450);
    expect(new Set(last).size).toBeGreaterThan(40);
    // The wait is between half of the usual wait and all of it.
    expect(Math.min(...last)).toBeGreaterThanOrEqual(5_500 / 2);
  });

  it("retries ever less often if another program changes the object before each write", async () => {
    const {
      clock,
      log,
      queue: q,
    } = queue(async () => {
      // The change that causes the conflict is an event, which adds the item during its processing and after it.
      q.add("a");
      clock.after(1, () => q.add("a"));
      throw new Error("too late");
    });
    q.add("a");
    await clock.advance(60_000);
    const times = log.map((line) => Number(line.split(" ")[0]));
    expect(times).toHaveLength(27);
    // The longest wait after a failure.
    expect(times.slice(-3)).toEqual([52_000, 56_000, 60_000]);
  });

  it.each(["never", "later"] as const)(
    "processes an item again at once that is added while it fails after conflicts, retried %s",
    async (retry) => {
      const clock = new VirtualClock();
      const startMs = clock.now();
      const log: number[] = [];
      const q = new WorkQueue<string>({
        clock,
        concurrency: 1,
        keyOf: (item) => item,
        work: async () => {
          log.push(clock.now() - startMs);
          if (log.length === 12) return AWAIT_CHANGE;
          // The object changes while it is refused for good.
          if (log.length === 11) q.add("a");
          throw new Error("refused");
        },
        onError: () => (log.length < 11 ? "soon" : retry),
        backoffMs: { base: 1_000, max: 4_000 },
      });
      q.add("a");
      await clock.advance(60_000);
      expect(log).toHaveLength(12);
      expect(log[11]).toBe(log[10]);
    },
  );

  it("works at once on a change that comes after a single conflict", async () => {
    const {
      clock,
      log,
      queue: q,
    } = queue(async () => {
      if (log.length === 1) throw new Error("too late");
      return AWAIT_CHANGE;
    });
    q.add("a");
    await clock.advance(10);
    q.add("a");
    await clock.advance(1_000);
    expect(log).toEqual(["0 a", "10 a"]);
  });

  it("works again after the requested delay, or at once if the item is added first", async () => {
    const {
      clock,
      log,
      queue: q,
    } = queue(async (item) =>
      item === "a" && log.length < 3 ? requeueAfter(5_000) : AWAIT_CHANGE,
    );
    q.add("a");
    await clock.advance(4_000);
    q.add("a");
    await clock.advance(4_999);
    expect(log).toEqual(["0 a", "4000 a"]);
    await clock.advance(1);
    expect(log).toEqual(["0 a", "4000 a", "9000 a"]);
  });

  it("retries a failing item with a doubling delay up to the limit, until the error handler says never", async () => {
    const {
      clock,
      log,
      queue: q,
    } = queue(async () => {
      throw new Error(log.length < 5 ? "again" : "give up");
    });
    q.add("a");
    await clock.advance(60_000);
    expect(log).toEqual(["0 a", "1000 a", "3000 a", "7000 a", "11000 a"]);
    expect(log).toHaveLength(5);
  });

  it("keeps the sooner of two delays", async () => {
    const { clock, log, queue: q } = queue(async () => AWAIT_CHANGE);
    q.addAfter("a", 3_000);
    q.addAfter("a", 1_000);
    q.addAfter("a", 2_000);
    await clock.advance(10_000);
    expect(log).toEqual(["1000 a"]);
  });

  it("starts items for at most 10 ms in one turn of the event loop, and loses none", async () => {
    // Each item takes three milliseconds before its first await, and three after it.
    let turnMs = 0;
    let turn = 0;
    const begun: number[] = [];
    const perTurn = new Map<number, number>();
    const { clock, turns, sleeps } = clockOfTurns(() => turnMs);
    const spend = () => {
      turnMs += 3;
      perTurn.set(turn, (perTurn.get(turn) ?? 0) + 3);
    };
    const q = new WorkQueue<number>({
      clock: turns,
      concurrency: 1_000,
      keyOf: String,
      work: async (item) => {
        begun.push(item);
        spend();
        await Promise.resolve();
        spend();
        return AWAIT_CHANGE;
      },
      onError: () => "never",
      backoffMs: { base: 1_000, max: 4_000 },
    });
    for (let item = 0; item < 100; item++) q.add(item);
    for (; turn < 200 && begun.length < 100; turn++) {
      await clock.settle();
      turnMs = 0;
      for (const wake of sleeps.splice(0)) wake();
    }
    await clock.settle();
    expect(begun).toEqual(Array.from({ length: 100 }, (_, item) => item));
    // Items start during ten milliseconds. After that, those that have started may still finish.
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(25);
    expect(q.depth).toBe(0);
  });

  it("starts no item after stop, even if it waited for the next turn of the event loop", async () => {
    const { clock, turns, sleeps } = clockOfTurns(() => turnMs);
    const begun: number[] = [];
    let turnMs = 0;
    const q = new WorkQueue<number>({
      clock: turns,
      concurrency: 10,
      keyOf: String,
      work: async (item) => {
        begun.push(item);
        turnMs = 10;
        return AWAIT_CHANGE;
      },
      onError: () => "never",
      backoffMs: { base: 1_000, max: 4_000 },
    });
    for (let item = 0; item < 20; item++) q.add(item);
    await clock.settle();
    const before = begun.length;
    expect(before).toBeLessThan(20);
    let ended = false;
    void q.stop().then(() => {
      ended = true;
    });
    for (let turn = 0; turn < 20 && !ended; turn++) {
      turnMs = 0;
      for (const wake of sleeps.splice(0)) wake();
      await clock.settle();
    }
    expect(ended).toBe(true);
    expect(begun).toHaveLength(before);
  });

  it("starts no item until it is opened", async () => {
    const clock = new VirtualClock(0);
    const log: string[] = [];
    const q = new WorkQueue<string>({
      clock,
      concurrency: 1,
      keyOf: (item) => item,
      work: async (item) => {
        log.push(item);
        return AWAIT_CHANGE;
      },
      onError: () => "never",
      backoffMs: { base: 1_000, max: 4_000 },
      held: true,
    });
    for (const item of ["a", "b", "a"]) q.add(item);
    await clock.settle();
    expect([log, q.depth]).toEqual([[], 2]);
    q.open();
    await clock.settle();
    expect(log).toEqual(["a", "b"]);
  });
});
