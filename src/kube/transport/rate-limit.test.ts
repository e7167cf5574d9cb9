import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { rateLimited } from "./rate-limit.ts";

describe("a rate-limited transport", () => {
  it("sends a burst at once, then requests at the rate, in order", async () => {
    const clock = new VirtualClock();
    const startMs = clock.now();
    const sent: [string, number][] = [];
    const transport = rateLimited(
      {
        send: ({ path }) => {
          sent.push([path, clock.now() - startMs]);
          return Promise.resolve({ status: 200, headers: {} });
        },
        close: () => undefined,
      },
      clock,
      { perSecond: 10, burst: 3 },
    );
    const ask = (path: string) => transport.send({ method: "GET", path });
    const first = Promise.all(["a", "b", "c", "d", "e"].map(ask));
    await clock.advance(1_000);
    await first;
    expect(sent).toEqual([
      ["a", 0],
      ["b", 0],
      ["c", 0],
      ["d", 100],
      ["e", 200],
    ]);
    // The bucket is full again, and has no more tokens than the burst.
    const later = Promise.all(["f", "g", "h", "i"].map(ask));
    await clock.advance(1_000);
    await later;
    expect(sent.slice(5).map(([, atMs]) => atMs)).toEqual([1_000, 1_000, 1_000, 1_100]);
  });
});
