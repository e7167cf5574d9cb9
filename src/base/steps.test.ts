import { describe, expect, it } from "vitest";
import { Random } from "./random.ts";
import {
  atOnce,
  besideOthers,
  filterInSteps,
  inTurns,
  mapInSteps,
  type Steps,
  sortInSteps,
  stepRunner,
} from "./steps.ts";
import { VirtualClock } from "./virtual-clock.ts";

function* counting(to: number): Steps<number> {
  for (let step = 0; step < to; step++) yield;
  return to;
}

describe("work in steps", () => {
  it("gives the same result with atOnce and inTurns", async () => {
    expect(atOnce(counting(5))).toBe(5);
    expect(await inTurns(new VirtualClock(0), counting(5), 10)).toBe(5);
  });

  it("pauses after the given time", async () => {
    const seen: string[] = [];
    let nowMs = 0;
    const clock = {
      turnMs: () => nowMs++,
      sleep: async (delayMs: number) => void seen.push(`others ${delayMs}`),
    };
    await inTurns(clock, counting(10), 4);
    expect(seen).toEqual(["others 0", "others 0"]);
  });

  it("counts time from one piece of work to the next with stepRunner, not with inTurns", async () => {
    let [nowMs, sleeps] = [0, 0];
    const clock = {
      turnMs: () => nowMs,
      sleep: async () => void sleeps++,
    };
    const lasting = function* (ms: number): Steps<void> {
      nowMs += ms;
      yield;
    };
    const run = stepRunner(clock, 20);
    for (let piece = 0; piece < 3; piece++) await run(lasting(9));
    expect(sleeps).toBe(1);
    for (let piece = 0; piece < 3; piece++) await inTurns(clock, lasting(9), 20);
    expect(sleeps).toBe(1);
  });

  it("reports the computing time of each turn to the meter, without pauses", async () => {
    let [nowMs, usedMs] = [0, 0];
    const clock = {
      turnMs: () => nowMs,
      sleep: async () => {
        nowMs += 1_000;
      },
    };
    const lasting = function* (): Steps<string> {
      for (let step = 0; step < 5; step++) {
        nowMs += 4;
        usedMs += 3;
        yield;
      }
      return "done";
    };
    const told: number[] = [];
    const meter = { clock: { elapsedMs: () => usedMs }, tell: (ms: number) => void told.push(ms) };
    expect(await stepRunner(clock, 10, meter)(lasting())).toBe("done");
    expect(told).toEqual([9, 6]);
  });

  it("counts anew if another turn of the event loop has begun since the last step", async () => {
    let [turnMs, sleeps] = [30, 0];
    const clock = {
      turnMs: () => turnMs,
      sleep: async () => void sleeps++,
    };
    const run = stepRunner(clock, 10);
    const lasting = function* (ms: number): Steps<void> {
      turnMs += ms;
      yield;
    };
    await run(lasting(9));
    // A promise of the caller waited until another turn.
    turnMs = 0;
    await run(lasting(9));
    expect(sleeps).toBe(0);
    await run(lasting(1));
    expect(sleeps).toBe(1);
  });

  it("pauses when the turn of the event loop is used up, and makes at least one step in each", async () => {
    let [turnMs, sleeps, steps] = [0, 0, 0];
    const clock = {
      turnMs: () => turnMs,
      sleep: async () => {
        sleeps++;
        turnMs = 0;
      },
    };
    const work = function* (count: number, ms: number): Steps<void> {
      for (let step = 0; step < count; step++) {
        steps++;
        turnMs += ms;
        yield;
      }
    };
    expect(besideOthers(clock, work(3, 3))).toBeUndefined();
    expect([steps, sleeps]).toEqual([3, 0]);
    // Nine milliseconds of this turn are used. The first step exceeds the turn, so the second one runs in the next
    // turn.
    const rest = besideOthers(clock, work(2, 20));
    expect([steps, sleeps]).toEqual([4, 1]);
    await rest;
    expect([steps, sleeps]).toEqual([5, 2]);
  });

  it("filters like Array.filter, in steps", () => {
    const steps = filterInSteps([1, 2, 3, 4, 5], 2, (item) => item % 2 === 1);
    expect(steps.next().done).toBe(false);
    expect(steps.next().done).toBe(false);
    expect(steps.next().value).toEqual([1, 3, 5]);
  });

  it("maps every item once, in order", () => {
    const steps = mapInSteps([1, 2, 3, 4, 5], 2, (item, index) => item * 10 + index);
    expect(steps.next().done).toBe(false);
    expect(steps.next().done).toBe(false);
    expect(steps.next().value).toEqual([10, 21, 32, 43, 54]);
  });

  it("sorts like Array.toSorted, and stably", () => {
    const random = new Random(7);
    for (const size of [0, 1, 2_048, 2_049, 8_193, 30_000]) {
      const items = Array.from({ length: size }, (_, index) => ({ key: random.int(100), index }));
      const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(atOnce(sortInSteps(items, compare))).toEqual(items.toSorted(compare));
    }
  });
});
