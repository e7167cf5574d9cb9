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

/** A server with a node and a pod. It sends the list of pods when `release` is called. */
function slowServer(): { readonly transport: Transport; readonly release: () => void } {
  let release = (): void => undefined;
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
    if (url.pathname === "/api/v1/pods" && limit !== "1") await released;
    const items = lists.get(url.pathname) ?? [];
    const isOne = url.pathname.includes("/configmaps/");
    if (isOne) return { status: 404, headers: {}, body: { kind: "Status", code: 404 } };
    const body = { kind: "List", metadata: { resourceVersion: "10" }, items };
    return { status: 200, headers: {}, body };
  };
  return { transport: { send, close: () => undefined }, release: () => release() };
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
    podsSoonMs: 1,
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
