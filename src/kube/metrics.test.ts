import { describe, expect, it } from "vitest";
import { type Logger, SILENT } from "../base/log.ts";
import type { Sample } from "../base/metrics.ts";
import { Random } from "../base/random.ts";
import { VirtualClock } from "../base/virtual-clock.ts";
import { fakeKube } from "../testing/fake-kube.ts";
import { joined, KubeError, TerminalError } from "./errors.ts";
import { AWAIT_CHANGE } from "./manager/controller.ts";
import { createManager } from "./manager/manager.ts";
import { LiveMirrors } from "./mirror/mirrors.ts";
import { meteredTransport, targetOf } from "./transport/metered-transport.ts";

/** Keeps the sums of counters by `name{values}`. `now`: reads the values that are computed. */
function recorder() {
  const told = new Map<string, number>();
  const readers = new Map<string, () => Iterable<Sample>>();
  const add = (name: string, labels: Readonly<Record<string, string>>, by = 1) => {
    const key = `${name}{${Object.values(labels).join(",")}}`;
    told.set(key, (told.get(key) ?? 0) + by);
  };
  return {
    told,
    now: (name: string) => [...(readers.get(name)?.() ?? [])].map(({ value }) => value),
    metrics: {
      count: add,
      observe: (name: string, labels: Readonly<Record<string, string>>, value: number) => {
        add(name, labels, value);
        add(`${name}_count`, labels);
      },
      set: () => undefined,
      forget: () => undefined,
      read: (name: string, read: () => Iterable<Sample>) => {
        readers.set(name, read);
        return () => readers.delete(name);
      },
    },
  };
}

describe("metrics of controllers", () => {
  it("give queue and work durations, running work, retries and errors", async () => {
    const clock = new VirtualClock();
    const { told, now, metrics } = recorder();
    const random = new Random("metrics");
    const mirrors = new LiveMirrors({ client: fakeKube(clock), clock, random, log: SILENT });
    const manager = createManager({ mirrors, clock, random, log: SILENT, metrics });
    manager.add({
      name: "slow",
      watches: [],
      concurrency: 1,
      initialRequests: [
        { kind: "", name: "a" },
        { kind: "", name: "b" },
        { kind: "", name: "never" },
      ],
      reconcile: async ({ name }) => {
        await clock.sleep(4_000);
        if (name === "b") throw new Error("once more");
        if (name === "never") throw new TerminalError("no use");
        return AWAIT_CHANGE;
      },
    });
    await manager.start();
    await clock.advance(1_000);
    expect(now("workqueue_depth")).toEqual([2]);
    expect(now("controller_runtime_active_workers")).toEqual([1]);
    expect(now("workqueue_unfinished_work_seconds")).toEqual([1]);
    expect(now("workqueue_longest_running_processor_seconds")).toEqual([1]);
    expect(now("controller_runtime_max_concurrent_reconciles")).toEqual([1]);
    await clock.advance(11_500);
    expect(told.get("workqueue_queue_duration_seconds{slow,slow}")).toBe(0 + 4 + 8);
    expect(told.get("workqueue_work_duration_seconds{slow,slow}")).toBe(12);
    expect(told.get("controller_runtime_reconcile_total{slow,success}")).toBe(1);
    expect(told.get("controller_runtime_reconcile_total{slow,error}")).toBe(2);
    expect(told.get("controller_runtime_reconcile_errors_total{slow}")).toBe(2);
    expect(told.get("controller_runtime_terminal_reconcile_errors_total{slow}")).toBe(1);
    expect(now("workqueue_retries_total")).toEqual([1]);
    expect(now("workqueue_adds_total")).toEqual([4]);
    const stopping = manager.stop();
    await clock.advance(10_000);
    await stopping;
    expect(now("workqueue_depth")).toEqual([]);
  });
});

describe("metrics of write conflicts", () => {
  it("count them as requeues, not as errors, unless something else failed as well", async () => {
    const clock = new VirtualClock();
    const { told, now, metrics } = recorder();
    const random = new Random("metrics");
    const lines: string[] = [];
    const say = (level: string) => (message: string, fields?: object) => {
      lines.push(`${level} ${message} ${(fields as { error?: string } | undefined)?.error}`);
    };
    const log: Logger = { ...SILENT, debug: say("debug"), error: say("error"), with: () => log };
    const mirrors = new LiveMirrors({ client: fakeKube(clock), clock, random, log: SILENT });
    const manager = createManager({ mirrors, clock, random, log, metrics });
    const race = new KubeError(409, { reason: "Conflict", message: "changed" }, "patch a");
    const away = new KubeError(503, { message: "away" }, "delete a");
    const failures = [race, joined([race, race]), joined([race, away])];
    manager.add({
      name: "racing",
      watches: [],
      concurrency: 1,
      initialRequests: [{ kind: "", name: "a" }],
      reconcile: async () => {
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
        return AWAIT_CHANGE;
      },
    });
    await manager.start();
    await clock.advance(10_000);
    expect(told.get("controller_runtime_reconcile_total{racing,requeue}")).toBe(2);
    expect(told.get("controller_runtime_reconcile_total{racing,error}")).toBe(1);
    expect(told.get("controller_runtime_reconcile_total{racing,success}")).toBe(1);
    expect(told.get("controller_runtime_reconcile_errors_total{racing}")).toBe(1);
    expect(now("workqueue_retries_total")).toEqual([3]);
    expect(lines).toEqual([
      "debug reconcile lost a race, trying again patch a: changed",
      "debug reconcile lost a race, trying again patch a: changed",
      "error Reconciler error patch a: changed; delete a: away",
    ]);
    await manager.stop();
  });
});

describe("metrics of API requests", () => {
  it("derive group, version, resource and subresource from the path", () => {
    const of = (path: string) => Object.values(targetOf(path)).join(" ");
    expect(of("/api/v1/namespaces/a/pods/b/eviction")).toBe(" v1 pods eviction");
    expect(of("/apis/apps/v1/deployments?limit=1")).toBe("apps v1 deployments ");
    expect(of("/apis/karpenter.sh/v1/nodepools/a/status")).toBe("karpenter.sh v1 nodepools status");
    expect(of("/api/v1/namespaces/a")).toBe(" v1 namespaces ");
    expect(of("/api/v1/namespaces/a/status")).toBe(" v1 namespaces status");
    expect(of("/version")).toBe("   ");
  });

  it("count responses by status code, and failed requests as <error>", async () => {
    const clock = new VirtualClock();
    const { told, metrics } = recorder();
    const answers = [404, undefined];
    const transport = meteredTransport(
      {
        send: async () => {
          await clock.sleep(1_500);
          const status = answers.shift();
          if (status === undefined) throw new Error("refused");
          return { status, headers: {} };
        },
        close: () => undefined,
      },
      clock,
      metrics,
    );
    const request = { method: "GET" as const, path: "/api/v1/nodes/a" };
    const sent = Promise.allSettled([transport.send(request), transport.send(request)]);
    await clock.advance(1_500);
    expect((await sent).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(told.get("client_go_request_total{404,GET}")).toBe(1);
    expect(told.get("client_go_request_total{<error>,GET}")).toBe(1);
    expect(told.get("client_go_request_duration_seconds{GET,,v1,nodes,}")).toBe(3);
  });
});
