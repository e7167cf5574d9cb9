import { describe, expect, it } from "vitest";
import { PacedClock } from "./paced-clock.ts";

describe("paced clock", () => {
  it("fires timers at their due time and in that order, even if the CPU is busy", async () => {
    const clock = new PacedClock(1_000);
    const startMs = clock.now();
    const fired: number[] = [];
    const done = new Promise<void>((resolve) => {
      for (const delayMs of [30_000, 10_000, 20_000]) {
        clock.after(delayMs, () => {
          fired.push(clock.now() - startMs);
          // Keeps the CPU busy for much longer than the time until the next timer.
          for (const end = Date.now() + 30; Date.now() < end; );
          if (fired.length === 3) resolve();
        });
      }
    });
    await done;
    clock.stop();
    expect(fired).toEqual([10_000, 20_000, 30_000]);
  });

  it("counts the real time that it loses while the CPU is busy", async () => {
    const clock = new PacedClock(1);
    await clock.sleep(10);
    const beforeMs = clock.lostMs;
    for (const end = Date.now() + 300; Date.now() < end; );
    await clock.sleep(10);
    const lostMs = clock.lostMs - beforeMs;
    expect(lostMs).toBeGreaterThanOrEqual(200);
    clock.after(1_000, () => {
      for (const end = Date.now() + 300; Date.now() < end; );
    });
    await clock.jump(2_000);
    expect(clock.lostMs - beforeMs - lostMs).toBeLessThan(200);
    clock.stop();
  });

  it("stands still while paused, but sleep(0) returns", async () => {
    const clock = new PacedClock(1_000);
    clock.pause();
    await clock.sleep(0);
    const pausedMs = clock.now();
    await new Promise((resolve) => setTimeout(resolve, 40));
    await clock.sleep(0);
    expect(clock.now()).toBe(pausedMs);
    clock.resume();
    await clock.sleep(1_000);
    expect(clock.now()).toBeGreaterThanOrEqual(pausedMs + 1_000);
    clock.stop();
  });

  it("jumps ahead, also while paused, and fires timers that are due on the way", async () => {
    const clock = new PacedClock(1);
    clock.pause();
    await clock.sleep(0);
    const startMs = clock.now();
    let firedMs = 0;
    clock.after(5_000, () => {
      firedMs = clock.now() - startMs;
    });
    await clock.jump(10_000);
    expect([firedMs, clock.now() - startMs]).toEqual([5_000, 10_000]);
    clock.stop();
  });

  it("resumes no work after it was stopped, not even work that takes one turn after the other", async () => {
    const clock = new PacedClock(1);
    let turns = 0;
    const work = async () => {
      for (;;) {
        turns++;
        await clock.sleep(0);
      }
    };
    void work();
    const realMs = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    while (turns < 3) await realMs(5);
    clock.stop();
    const before = turns;
    await realMs(30);
    expect(turns).toBe(before);
  });

  it("continues at another speed", async () => {
    const clock = new PacedClock(0.001);
    clock.speed = 10_000;
    const startMs = clock.now();
    await clock.sleep(20_000);
    expect([clock.speed, clock.now() - startMs >= 20_000]).toEqual([10_000, true]);
    clock.stop();
  });
});
