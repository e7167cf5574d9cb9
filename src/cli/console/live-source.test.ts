import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../apis/meta.ts";
import { SILENT } from "../../base/log.ts";
import { Random } from "../../base/random.ts";
import { SystemClock } from "../../base/system-clock.ts";
import type { KubeRequest, KubeResponse, Transport } from "../../kube/transport/transport.ts";
import { liveSource } from "./live-source.ts";

const CREATED = "2026-01-01T00:00:00Z";

function object(name: string, more: object): KubeObject {
  const metadata = { name, uid: name, resourceVersion: "1", creationTimestamp: CREATED };
  return { metadata, ...more } as KubeObject;
}

const READY = { type: "Ready", status: "True", lastTransitionTime: CREATED };
const NODE = object("a", {
  spec: { providerID: "kwok://a" },
  status: { allocatable: { cpu: "4", pods: "10" }, capacity: { cpu: "4" }, conditions: [READY] },
});
const POD = object("web", {
  metadata: { ...object("web", {}).metadata, namespace: "shop" },
  spec: { nodeName: "a", containers: [{ name: "web", resources: { requests: { cpu: "1" } } }] },
  status: { phase: "Running" },
});

interface SlowServer {
  readonly transport: Transport;
  readonly release: () => void;
  /** The number of requests for the whole list of pods. */
  readonly podLists: () => number;
}

/**
 * A server with a node and a pod. It sends the list of pods when `release` is called. Asked for one pod only, it says
 * that this many further ones exist.
 */
function slowServer(furtherPods = 50_000): SlowServer {
  let release = (): void => undefined;
  let podLists = 0;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const lists = new Map([
    ["/api/v1/nodes", [NODE]],
    ["/api/v1/pods", [POD]],
  ]);
  const send = async ({ path }: KubeRequest): Promise<KubeResponse> => {
    const url = new URL(path, "http://server");
    const limit = url.searchParams.get("limit");
    if (url.searchParams.has("watch")) {
      const stream = { close: () => undefined, async *[Symbol.asyncIterator]() {} };
      return { status: 200, headers: {}, stream };
    }
    const isOfPods = url.pathname === "/api/v1/pods";
    if (isOfPods && limit !== "1") {
      podLists += 1;
      await released;
    }
    const items = lists.get(url.pathname) ?? [];
    const isOne = url.pathname.includes("/configmaps/");
    if (isOne) return { status: 404, headers: {}, body: { kind: "Status", code: 404 } };
    const more = { continue: "1", remainingItemCount: furtherPods };
    const hasMore = isOfPods && limit === "1" && furtherPods > 0;
    const metadata = { resourceVersion: "10", ...(hasMore ? more : {}) };
    const body = { kind: "List", metadata, items };
    return { status: 200, headers: {}, body };
  };
  return {
    transport: { send, close: () => undefined },
    release: () => release(),
    podLists: () => podLists,
  };
}

function sourceOf(transport: Transport) {
  return liveSource({
    name: "test",
    mode: "cluster",
    transport,
    clock: new SystemClock(),
    random: new Random(1),
    log: SILENT,
    nowMs: () => Date.parse(CREATED),
    restFactor: 0,
  });
}

describe("the console's source on a cluster with many pods", () => {
  it("shows nodes before the pods are listed, and no answers that depend on pods", async () => {
    const { transport, release } = slowServer();
    const source = sourceOf(transport);
    const close = source.open();
    const early = await source.scene({ early: true });
    expect(early.loading).toEqual(["pods"]);
    expect((await early.fleet()).totals).toMatchObject({ nodes: 1, pods: 0 });
    // The answer about nodes must wait for the pods. Without its pod the node would look empty, as if it were
    // removed next.
    let isAnswered = false;
    const listed = early.nodes({ filter: "" }).finally(() => {
      isAnswered = true;
    });
    const whole = source.scene();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(isAnswered).toBe(false);
    release();
    expect((await listed).rows["a"]).toMatchObject({ pods: 1 });
    const later = await whole;
    expect(later.loading).toBeUndefined();
    expect((await later.fleet()).totals).toMatchObject({ nodes: 1, pods: 1 });
    expect((await source.scene({ early: true })).loading).toBeUndefined();
    close();
  });

  it("lists pods only when somebody asks for more than nodes", async () => {
    const { transport, release, podLists } = slowServer();
    const source = sourceOf(transport);
    const close = source.open();
    const early = await source.scene({ early: true });
    await early.fleet();
    await source.scene({ early: true });
    expect(podLists()).toBe(0);
    release();
    expect((await (await source.scene()).fleet()).totals).toMatchObject({ pods: 1 });
    expect(podLists()).toBe(1);
    close();
  });

  it("lists few pods before it shows nodes", async () => {
    const { transport, release } = slowServer(0);
    const source = sourceOf(transport);
    const close = source.open();
    release();
    const scene = await source.scene({ early: true });
    expect(scene.loading).toBeUndefined();
    expect((await scene.fleet()).totals).toMatchObject({ nodes: 1, pods: 1 });
    close();
  });

  it("reads a scene once for all who ask at the same time", async () => {
    const { transport } = slowServer();
    const source = sourceOf(transport);
    const close = source.open();
    const [one, other] = [source.scene({ early: true }), source.scene({ early: true })];
    expect(await one).toBe(await other);
    close();
  });

  it("ends a reading when it is closed while a list is still awaited", async () => {
    const { transport, release } = slowServer();
    const source = sourceOf(transport);
    const close = source.open();
    await source.scene({ early: true });
    const waiting = source.scene();
    close();
    await expect(waiting).rejects.toThrow("the watches of the cluster were closed");
    const closeAgain = source.open();
    release();
    expect((await (await source.scene()).fleet()).totals).toMatchObject({ nodes: 1, pods: 1 });
    closeAgain();
  });
});
