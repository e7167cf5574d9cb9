import { describe, expect, it } from "vitest";
import { Random } from "./random.ts";
import { atOnce, inTurns, mapInSteps, type Steps, sortInSteps } from "./steps.ts";
import { VirtualClock } from "./virtual-clock.ts";

function* counting(to: number): Steps<number> {
  for (let step = 0; step < to; step++) yield;
  return to;
}

describe("work in steps", () => {
  it("gives the same result at once and in turns", async () => {
    expect(atOnce(counting(5))).toBe(5);
    expect(await inTurns(new VirtualClock(0), counting(5), 10)).toBe(5);
  });

  it("lets others have their turn when its own is over", async () => {
    const seen: string[] = [];
    let nowMs = 0;
    const clock = {
      now: () => nowMs++,
      after: () => ({ cancel: () => undefined }),
      sleep: async (delayMs: number) => void seen.push(`others ${delayMs}`),
    };
    await inTurns(clock, counting(10), 4);
    expect(seen).toEqual(["others 0", "others 0"]);
  });

  it("maps every item once, in order", () => {
    const steps = mapInSteps([1, 2, 3, 4, 5], 2, (item, index) => item * 10 + index);
    expect(steps.next().done).toBe(false);
    expect(steps.next().done).toBe(false);
    expect(steps.next().value).toEqual([10, 21, 32, 43, 54]);
  });

  it("sorts as an array does, equals in their order", () => {
    const random = new Random(7);
    for (const size of [0, 1, 8_192, 8_193, 30_000]) {
      const items = Array.from({ length: size }, (_, index) => ({ key: random.int(100), index }));
      const compare = (a: { key: number }, b: { key: number }) => a.key - b.key;
      expect(atOnce(sortInSteps(items, compare))).toEqual(items.toSorted(compare));
    }
  });
});
