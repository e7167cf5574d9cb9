import { expect, it } from "vitest";
import { VirtualClock } from "./virtual-clock.ts";

it("a virtual clock counts the timers that fired, and neither those that wait nor those that were cancelled", async () => {
  const clock = new VirtualClock();
  clock.after(1_000, () => undefined);
  clock.after(1_000, () => undefined).cancel();
  clock.after(3_000, () => undefined);
  await clock.advance(999);
  expect(clock.fired).toBe(0);
  await clock.advance(1);
  expect(clock.fired).toBe(1);
  await clock.advance(1_000);
  expect(clock.fired).toBe(1);
  const slept = clock.sleep(500);
  await clock.advance(1_000);
  await slept;
  expect(clock.fired).toBe(3);
});
