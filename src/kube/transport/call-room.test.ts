import { describe, expect, it } from "vitest";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { AWAIT_CHANGE, type Controller } from "../manager/controller.ts";
import { createManager } from "../manager/manager.ts";
import { LiveMirrors } from "../mirror/mirrors.ts";
import { withCallRoom } from "./call-room.ts";
import type { Transport } from "./transport.ts";

/** A server that answers each call after one second. */
function slowServer(clock: VirtualClock): Transport {
  return {
    send: async () => {
      await clock.sleep(1_000);
      return { status: 200, headers: {} };
    },
    close: () => undefined,
  };
}

function opened(mostCalls: number) {
  const clock = new VirtualClock();
  const { transport, awaitRoom } = withCallRoom(slowServer(clock), clock, mostCalls);
  const random = new Random("room");
  const mirrors = new LiveMirrors({ client: fakeKube(clock), clock, random, log: SILENT });
  const manager = createManager({ mirrors, clock, random, log: SILENT, awaitRoom });
  /** Since the start, in seconds. */
  const began: string[] = [];
  const startMs = clock.now();
  const named = (name: string, items: number, calls: boolean, workers = 1_000): Controller => ({
    name,
    watches: [],
    concurrency: workers,
    initialRequests: Array.from({ length: items }, (_, at) => ({ kind: "", name: String(at) })),
    reconcile: async (request) => {
      began.push(`${name} ${request.name} at ${(clock.now() - startMs) / 1_000}`);
      if (calls) await transport.send({ method: "PATCH", path: "/" });
      return AWAIT_CHANGE;
    },
  });
  const stop = async (): Promise<void> => {
    const stopped = manager.stop();
    await clock.advance(60_000);
    await stopped;
  };
  return { clock, manager, began, named, stop };
}

describe("reconciles whose calls find no connection", () => {
  it("begin when there is room, not before, so that they decide on what is true then", async () => {
    const { clock, manager, began, named, stop } = opened(2);
    manager.add(named("writes", 6, true));
    await manager.start();
    await clock.advance(10_000);
    const wholeSeconds = began.map((line) => line.replace(/\.\d+$/, ""));
    expect(wholeSeconds.slice(-4)).toEqual([
      "writes 2 at 1",
      "writes 3 at 1",
      "writes 4 at 2",
      "writes 5 at 2",
    ]);
    await stop();
  });

  it("of one busy controller do not hold up those of another", async () => {
    const { clock, manager, began, named, stop } = opened(1);
    manager.add(named("many", 50, true));
    manager.add(named("few", 1, true));
    await manager.start();
    await clock.advance(3_500);
    expect(began.findIndex((line) => line.startsWith("few"))).toBeLessThan(4);
    await stop();
  });

  it("all begin though none of them sends anything", async () => {
    const { clock, manager, began, named, stop } = opened(2);
    manager.add(named("writes", 2, true));
    manager.add(named("reads", 500, false));
    await manager.start();
    await clock.advance(1_500);
    expect(began.filter((line) => line.startsWith("reads"))).toHaveLength(500);
    await stop();
  });

  it("begin at once in a controller of few workers, which may have much to do without a call", async () => {
    const { clock, manager, began, named, stop } = opened(1);
    manager.add(named("writes", 50, true));
    manager.add(named("interruption", 1, false, 10));
    await manager.start();
    await clock.advance(500);
    expect(began).toContain("interruption 0 at 0");
    await stop();
  });

  it("run once though their object changes while they wait", async () => {
    const { clock, manager, began, named, stop } = opened(1);
    manager.add(named("writes", 5, true));
    let change: ((name: string) => void) | undefined;
    manager.add({
      ...named("late", 1, false),
      listen: (ask) => {
        change = (name) => ask({ kind: "", name });
        return () => undefined;
      },
    });
    await manager.start();
    await clock.advance(200);
    change?.("0");
    await clock.advance(20_000);
    expect(began.filter((line) => line.startsWith("late"))).toHaveLength(1);
    await stop();
  });

  it("do not begin after the stop of the manager", async () => {
    const { clock, manager, began, named, stop } = opened(1);
    manager.add(named("writes", 5, true));
    await manager.start();
    await clock.advance(500);
    const before = began.length;
    await stop();
    expect(began).toHaveLength(before);
  });
});
