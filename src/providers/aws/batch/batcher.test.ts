import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import { RequestBatcher } from "./batcher.ts";

function make(
  clock: VirtualClock,
  maxItems = 10,
): { asked: string[][]; batcher: RequestBatcher<string, string> } {
  const asked: string[][] = [];
  const batcher = new RequestBatcher<string, string>({
    clock,
    idleMs: 100,
    maxMs: 250,
    maxItems,
    keyOf: (input) => input.slice(0, 1),
    execute: async (inputs) => {
      asked.push([...inputs]);
      return inputs.map((input) => (input.endsWith("!") ? new Error(input) : `${input}?`));
    },
  });
  return { asked, batcher };
}

describe("a batch of requests", () => {
  it("collects requests with an equal key until none arrive for a while", async () => {
    const clock = new VirtualClock();
    const { asked, batcher } = make(clock);
    const answers = Promise.allSettled(["a1", "b1", "a2!"].map((input) => batcher.ask(input)));
    await clock.advance(99);
    expect(asked).toEqual([]);
    await clock.advance(1);
    expect(asked).toEqual([["b1"], ["a1", "a2!"]]);
    expect((await answers).map((one) => one.status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
    ]);
  });

  it("is sent after its maximum time even if requests keep arriving", async () => {
    const clock = new VirtualClock();
    const { asked, batcher } = make(clock);
    for (let i = 0; i < 5; i++) {
      void batcher.ask(`a${i}`);
      await clock.advance(60);
    }
    expect(asked[0]).toEqual(["a0", "a1", "a2", "a3", "a4"]);
  });

  it("is sent when it is full, and the next request opens another batch", async () => {
    const clock = new VirtualClock();
    const { asked, batcher } = make(clock, 2);
    for (const input of ["a1", "a2", "a3"]) void batcher.ask(input);
    await clock.advance(0);
    expect(asked).toEqual([["a1", "a2"]]);
    await clock.advance(100);
    expect(asked).toEqual([["a1", "a2"], ["a3"]]);
  });
});
