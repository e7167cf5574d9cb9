import { expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { ContestedChanges } from "./contested-changes.ts";

it("a removed finalizer is added at once, then with growing delays, and at once after a quiet hour", async () => {
  const clock = new VirtualClock();
  const contested = new ContestedChanges(clock);
  const waits: number[] = [];
  for (let at = 0; at < 12; at++) {
    const { waitMs } = contested.next({ metadata: { name: "a" } });
    waits.push(waitMs / 1_000);
    await clock.advance(waitMs);
    if (waitMs > 0) expect(contested.next({ metadata: { name: "a" } }).waitMs).toBe(0);
  }
  expect(waits).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  expect(contested.next({ metadata: { name: "b" } })).toEqual({ waitMs: 0, times: 1 });
  await clock.advance(3_600_000);
  expect(contested.next({ metadata: { name: "a" } })).toEqual({ waitMs: 0, times: 1 });
});
