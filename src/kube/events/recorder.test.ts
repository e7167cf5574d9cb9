import { describe, expect, it } from "vitest";
import { EVENT } from "../../apis/core/kinds.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import type { EventToPublish } from "./events.ts";
import { createRecorder } from "./recorder.ts";

const MINUTE = 60_000;

function open() {
  const clock = new VirtualClock();
  const client = fakeKube(clock);
  const random = new Random(1);
  const recorder = createRecorder({ client, clock, random, log: SILENT, component: "karpenter" });
  return { clock, recorder, stored: () => client.all(EVENT) };
}

function event(name: string, patch: Partial<EventToPublish> = {}): EventToPublish {
  return {
    object: { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default", uid: name } },
    type: "Warning",
    reason: "FailedScheduling",
    message: "no room",
    ...patch,
  };
}

describe("event recorder", () => {
  it("publishes an event once in its window, and increments its count after that", async () => {
    const { clock, recorder, stored } = open();
    recorder.publish(event("a"), event("a"), event("b"));
    await clock.advance(MINUTE);
    recorder.publish(event("a"));
    await clock.settle();
    expect(stored().map(({ count }) => count)).toEqual([1, 1]);
    await clock.advance(MINUTE);
    recorder.publish(event("a"));
    await clock.settle();
    const [first] = stored().filter(({ involvedObject }) => involvedObject.name === "a");
    expect(first).toMatchObject({ count: 2, source: { component: "karpenter" } });
    expect(first?.lastTimestamp).not.toBe(first?.firstTimestamp);
  });

  it("deduplicates by message, reason and object, or by dedupeValues", async () => {
    const { clock, recorder, stored } = open();
    recorder.publish(event("a"), event("a", { message: "no zone" }), event("a", { reason: "R" }));
    const always = { dedupeValues: ["same"] };
    recorder.publish(event("c", always), event("c", { ...always, message: "worded otherwise" }));
    await clock.settle();
    expect(stored()).toHaveLength(4);
  });

  it("creates a new Event for another message after the window, instead of counting the old one", async () => {
    const { clock, recorder, stored } = open();
    const said = (message: string) =>
      recorder.publish(event("a", { dedupeValues: ["same"], message }));
    for (const message of ["on claim-1", "on claim-2", "on claim-2"]) {
      said(message);
      await clock.advance(2 * MINUTE);
    }
    expect(stored().map(({ message, count }) => [message, count])).toEqual([
      ["on claim-1", 1],
      ["on claim-2", 2],
    ]);
  });

  it("publishes each of 6,000 events once, even if all are repeated", async () => {
    const { clock, recorder, stored } = open();
    const flood = Array.from({ length: 6_000 }, (_, n) => event(`p-${n}`));
    for (let round = 0; round < 3; round++) {
      recorder.publish(...flood);
      await clock.advance(10_000);
    }
    expect(stored()).toHaveLength(6_000);
  });

  it("forgets an event after its window when many others come", async () => {
    const { clock, recorder, stored } = open();
    recorder.publish(event("old"));
    await clock.advance(5 * MINUTE);
    recorder.publish(...Array.from({ length: 4_100 }, (_, n) => event(`p-${n}`)));
    recorder.publish(event("old"));
    await clock.settle();
    const old = stored().filter(({ involvedObject }) => involvedObject.name === "old");
    expect(old.map(({ count }) => count)).toEqual([1, 1]);
  });

  it("keeps windows and rates if the clock is set back by an hour", async () => {
    const { clock, recorder, stored } = open();
    const rate = { perSecond: 5, burst: 10 };
    recorder.publish(event("a"));
    recorder.publish(...Array.from({ length: 50 }, (_, n) => event(`p-${n}`, { rate })));
    const wallMs = clock.now();
    clock.setBack(60 * MINUTE);
    recorder.publish(event("q-none", { rate }));
    await clock.advance(2 * MINUTE);
    recorder.publish(event("a"));
    recorder.publish(...Array.from({ length: 50 }, (_, n) => event(`q-${n}`, { rate })));
    await clock.settle();
    expect(stored()).toHaveLength(1 + 10 + 10);
    const [first] = stored().filter(({ involvedObject }) => involvedObject.name === "a");
    // The timestamp follows the wall clock, which was set back by an hour and then ran for two minutes.
    const lastTimestamp = toRfc3339(wallMs - 58 * MINUTE);
    expect(first).toMatchObject({ count: 2, lastTimestamp });
  });

  it("publishes events with a rate in a burst and then at that rate", async () => {
    const { clock, recorder, stored } = open();
    const rate = { perSecond: 5, burst: 10 };
    recorder.publish(...Array.from({ length: 50 }, (_, n) => event(`p-${n}`, { rate })));
    await clock.settle();
    expect(stored()).toHaveLength(10);
    await clock.advance(1_000);
    recorder.publish(...Array.from({ length: 50 }, (_, n) => event(`q-${n}`, { rate })));
    recorder.publish(event("other", { reason: "Other" }));
    await clock.settle();
    expect(stored()).toHaveLength(10 + 5 + 1);
  });

  it("sends eight requests at a time, and drops events above 8,192 while the server hangs", async () => {
    const clock = new VirtualClock();
    const kube = fakeKube(clock);
    const held: (() => void)[] = [];
    const client: typeof kube = {
      ...kube,
      create: async (kind, object) => {
        await new Promise<void>((resolve) => held.push(resolve));
        return kube.create(kind, object);
      },
    };
    const deps = { client, clock, random: new Random(1), log: SILENT, component: "karpenter" };
    const recorder = createRecorder(deps);
    recorder.publish(...Array.from({ length: 9_000 }, (_, n) => event(`p-${n}`)));
    await clock.settle();
    expect(held).toHaveLength(8);
    while (held.length > 0) {
      for (const answer of held.splice(0)) answer();
      await clock.settle();
    }
    expect(kube.all(EVENT)).toHaveLength(8 + 8_192);
  });
});
