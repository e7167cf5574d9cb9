import { expect, it } from "vitest";
import { Reminders } from "./reminders.ts";
import { VirtualClock } from "./virtual-clock.ts";

it("a lasting problem is due to be logged at once and then every minute, until it is over", async () => {
  const clock = new VirtualClock();
  const reminders = new Reminders(clock);
  const said: number[] = [];
  const startMs = clock.elapsedMs();
  for (let second = 0; second < 150; second += 10) {
    if (reminders.isDue("a")) said.push((clock.elapsedMs() - startMs) / 1_000);
    await clock.advance(10_000);
  }
  expect(said).toEqual([0, 60, 120]);
  expect(reminders.isDue("b")).toBe(true);
  expect([reminders.over("a"), reminders.over("a")]).toEqual([true, false]);
  expect(reminders.isDue("a")).toBe(true);
});
