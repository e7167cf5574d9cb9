import { describe, expect, it } from "vitest";
import { PacedClock } from "./paced-clock.ts";

describe("paced clock", () => {
  it("fires timers in the order of their due time, at their due time, however late the machine is", async () => {
    const clock = new PacedClock(1_000);
    const startMs = clock.now();
    const fired: number[] = [];
    const done = new Promise<void>((resolve) => {
      for (const delayMs of [30_000, 10_000, 20_000]) {
        clock.after(delayMs, () => {
          fired.push(clock.now() - startMs);
          // Work that takes the machine far longer than the time until the next timer.
          for (const end = Date.now() + 30; Date.now() < end; );
          if (fired.length === 3) resolve();
        });
      }
    });
    await done;
    clock.stop();
    expect(fired).toEqual([10_000, 20_000, 30_000]);
  });
});
