/**
 * The computer's clock may be set back while the controller runs. After that nothing may wait until the old time is
 * reached again.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NODE, type Node } from "../apis/core/node.ts";
import { SILENT } from "../base/log.ts";
import { Random } from "../base/random.ts";
import { SystemClock } from "../base/system-clock.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { fakeKube } from "../testing/fake-kube.ts";
import { fakeMetrics } from "../testing/fake-metrics.ts";
import type { KubeClient, WatchEvent } from "./client/client.ts";
import { electLeader } from "./lease.ts";
import { AWAIT_CHANGE } from "./manager/controller.ts";
import { createManager } from "./manager/manager.ts";
import { WorkQueue } from "./manager/work-queue.ts";
import { KUBE_METRICS } from "./metrics.ts";
import { LiveMirrors } from "./mirror/mirrors.ts";
import { reflect } from "./mirror/watch.ts";
import { rateLimited } from "./transport/rate-limit.ts";

const HOUR_MS = 3_600_000;

describe("after the clock is set back by an hour", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());
  const setBack = () => vi.setSystemTime(Date.now() - HOUR_MS);

  it("a work queue works on delayed items in time", async () => {
    const clock = new SystemClock();
    const seen: string[] = [];
    const queue = new WorkQueue<string>({
      clock,
      keyOf: (item) => item,
      concurrency: 1,
      work: async (item) => {
        seen.push(item);
        return AWAIT_CHANGE;
      },
      onError: () => "never",
      backoffMs: { base: 1, max: 1 },
    });
    queue.addAfter("first", 20);
    queue.addAfter("second", 40);
    setBack();
    queue.addAfter("third", 60);
    await vi.waitFor(() => expect(seen).toEqual(["first", "second", "third"]), 2_000);
    await queue.stop();
  });

  it("the rate limiter delays a request no longer", async () => {
    const answer = { status: 200, headers: {}, body: {} };
    const transport = { send: async () => answer, close: () => undefined };
    const limited = rateLimited(transport as never, new SystemClock(), {
      perSecond: 100,
      burst: 1,
    });
    const request = { method: "GET", path: "/" } as const;
    await limited.send(request);
    setBack();
    const sent = vi.fn();
    void limited.send(request).then(sent);
    await vi.waitFor(() => expect(sent).toHaveBeenCalled(), 2_000);
  });
});

describe("after a virtual clock is set back by an hour", () => {
  it("a leader keeps its lease, loses it in 10 s if the server hangs, and another acquires it", async () => {
    const clock = new VirtualClock();
    const kube = fakeKube(clock);
    let hangs = false;
    const never = new Promise<never>(() => undefined);
    const hanging: KubeClient = {
      ...kube,
      get: (kind, ref) => (hangs ? never : kube.get(kind, ref)),
      update: (kind, object) => (hangs ? never : kube.update(kind, object)),
    };
    const elect = (identity: string, client: KubeClient) =>
      electLeader({ client, clock, log: SILENT, name: "lead", namespace: "karpenter", identity });
    const first = elect("first", hanging);
    const second = elect("second", kube);
    const leading = () => [first.leading, second.leading];
    await clock.advance(5_000);
    clock.setBack(HOUR_MS);
    await clock.advance(20_000);
    expect(leading()).toEqual([true, false]);
    hangs = true;
    await clock.advance(3_000);
    // The second replica saw the last renewal before the clock was set back.
    clock.setBack(HOUR_MS);
    await clock.advance(8_000);
    expect(leading()).toEqual([false, false]);
    await clock.advance(8_000);
    expect(leading()).toEqual([false, true]);
    await second.release();
  });

  it("a watch without events is closed after 75 seconds, and opened again at once", async () => {
    const clock = new VirtualClock();
    const opened: number[] = [];
    const heard: string[] = [];
    let bring: (event: WatchEvent<Node>) => void = () => undefined;
    let hangUp: () => void = () => undefined;
    const passedMs = () => clock.elapsedMs() - startMs;
    const client = {
      list: async () => ({ items: [], resourceVersion: "1" }),
      watch: async () => {
        opened.push(passedMs());
        let end: () => void = () => undefined;
        const ended = new Promise<undefined>((resolve) => {
          end = () => resolve(undefined);
        });
        hangUp = end;
        return {
          close: end,
          async *[Symbol.asyncIterator]() {
            for (;;) {
              const next = new Promise<WatchEvent<Node>>((resolve) => {
                bring = resolve;
              });
              const event = await Promise.race([next, ended]);
              if (event === undefined) return;
              yield event;
            }
          },
        };
      },
    } as unknown as KubeClient;
    const startMs = clock.elapsedMs();
    const loop = reflect<Node>({
      client,
      clock,
      random: new Random(1),
      log: { ...SILENT, debug: (_, fields) => heard.push(JSON.stringify(fields)) },
      kind: NODE,
      onList: () => undefined,
      onEvent: () => undefined,
    });
    await clock.advance(20_000);
    clock.setBack(HOUR_MS);
    await clock.advance(55_000);
    expect(opened).toEqual([0, 75_000]);
    await clock.advance(50_000);
    bring({ type: "ADDED", object: { metadata: { name: "n", resourceVersion: "2" } } });
    await clock.advance(74_000);
    expect(opened).toEqual([0, 75_000]);
    await clock.advance(1_000);
    expect(opened).toEqual([0, 75_000, 200_000]);
    await clock.advance(75_000);
    expect(opened).toEqual([0, 75_000, 200_000, 275_000]);
    const silence = JSON.stringify({ kind: "Node", quietMs: 75_000 });
    expect(heard).toEqual([silence, silence, silence]);
    // A watch that the server ends at once is opened again only after a delay.
    hangUp();
    await clock.advance(100);
    expect(opened).toHaveLength(4);
    loop.close();
  });

  it("a stale view is logged after five seconds, and reconcile durations are correct", async () => {
    const clock = new VirtualClock();
    const kube = fakeKube(clock);
    const random = new Random("back");
    const told: string[] = [];
    const tell = (message: string, fields?: object): void => {
      told.push(`${message} ${JSON.stringify(fields)}`);
    };
    const log = { ...SILENT, info: tell, warn: tell };
    const mirrors = new LiveMirrors({ client: kube, clock, random, log: SILENT });
    const { meter, measured, shown } = fakeMetrics(KUBE_METRICS);
    const manager = createManager({ mirrors, clock, random, log, metrics: meter });
    manager.add({
      name: "one",
      concurrency: 1,
      watches: [],
      initialRequests: [{ kind: "Node", name: "n" }],
      reconcile: async () => {
        await clock.sleep(2_000);
        return AWAIT_CHANGE;
      },
    });
    let current = false;
    Object.defineProperty(mirrors, "current", { get: () => current });
    clock.setBack(HOUR_MS);
    const started = manager.start();
    await clock.advance(1_000);
    await started;
    expect(told).toEqual([]);
    clock.setBack(HOUR_MS);
    await clock.advance(5_000);
    expect(told).toEqual([expect.stringMatching(/^view of the cluster is stale/)]);
    current = true;
    clock.setBack(HOUR_MS);
    await clock.advance(1_000);
    const staleMs = Number(/"staleMs":(-?\d+)/.exec(told[1] ?? "")?.[1]);
    expect(staleMs).toBeGreaterThanOrEqual(6_000);
    expect(staleMs).toBeLessThan(7_000);
    clock.setBack(HOUR_MS);
    const running = shown().get(
      "workqueue_longest_running_processor_seconds{controller=one,name=one}",
    );
    expect(running).toBeGreaterThan(0);
    expect(running).toBeLessThan(2);
    await clock.advance(3_000);
    expect(measured.get("controller_runtime_reconcile_time_seconds{controller=one}")).toBe(2);
    await manager.stop();
    mirrors.close();
  });
});
