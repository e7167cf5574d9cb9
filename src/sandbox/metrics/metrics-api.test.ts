/** The metrics API: which nodes and pods have samples, the usage in them, and the effect of annotations. */
import { afterEach, describe, expect, it } from "vitest";
import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_METRICS, POD_METRICS, type PodMetrics } from "../../apis/metrics/kinds.ts";
import { deploymentOf, type PartsCluster, startParts } from "../testing/parts-cluster.ts";

let cluster: PartsCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

async function open(): Promise<PartsCluster> {
  cluster = await startParts();
  cluster.node("a");
  await cluster.clock.advance(1_000);
  return cluster;
}

function pod(name: string, annotations: Record<string, string>, resources: object): unknown {
  const metadata = { name, namespace: "default", labels: { app: name }, annotations };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name: "main", image: "pause", resources }] },
  };
}

const REQUESTS = { requests: { cpu: "400m", memory: "256Mi" } };

async function usages(cluster: PartsCluster): Promise<Record<string, unknown>> {
  const { items } = await cluster.kube.list<PodMetrics>(POD_METRICS, { namespace: "default" });
  return Object.fromEntries(
    items.map(({ metadata, containers }) => [metadata.name, containers[0]?.usage]),
  );
}

describe("the metrics API", () => {
  it("reports half of the requests, after one whole interval since the start", async () => {
    const cluster = await open();
    await cluster.create(POD, pod("web", {}, REQUESTS));
    await cluster.clock.advance(16_000);
    expect(await usages(cluster)).toEqual({});
    await cluster.clock.advance(15_000);
    expect(await usages(cluster)).toEqual({ web: { cpu: "200m", memory: "128Mi" } });
    const [web] = (await cluster.kube.list<PodMetrics>(POD_METRICS)).items;
    expect(web).toMatchObject({
      metadata: { name: "web", namespace: "default", labels: { app: "web" } },
      timestamp: expect.stringMatching(/:(00|15|30|45)Z$/),
      window: "15s",
    });
    const [node] = (await cluster.kube.list(NODE_METRICS)).items;
    expect(node).toMatchObject({
      metadata: { name: "a" },
      usage: { cpu: "200m", memory: "128Mi" },
    });
  });

  it("reports the usage that annotations set, up to the limit", async () => {
    const cluster = await open();
    const limits = { cpu: "500m", memory: "1Gi" };
    const percent = (text: string) => ({ "karpenter-ts.sandbox/cpu-utilization": text });
    await cluster.create(POD, pod("busy", percent("90%"), REQUESTS));
    await cluster.create(POD, pod("burst", percent("300"), { ...REQUESTS, limits }));
    await cluster.create(POD, pod("odd", percent("a lot"), REQUESTS));
    await cluster.create(POD, pod("free", percent("90%"), {}));
    const memory = { "karpenter-ts.sandbox/memory-utilization": "100%" };
    await cluster.create(POD, pod("full", memory, REQUESTS));
    await cluster.clock.advance(45_000);
    expect(await usages(cluster)).toEqual({
      burst: { cpu: "500m", memory: "128Mi" },
      busy: { cpu: "360m", memory: "128Mi" },
      free: { cpu: "0", memory: "0" },
      full: { cpu: "200m", memory: "256Mi" },
      odd: { cpu: "200m", memory: "128Mi" },
    });
  });

  it("divides the load of a workload among its ready pods", async () => {
    const cluster = await open();
    const web = deploymentOf("web", 3) as { metadata: { annotations?: object } };
    web.metadata.annotations = { "karpenter-ts.sandbox/cpu-load": "600m" };
    await cluster.create(DEPLOYMENT, web);
    await cluster.clock.advance(45_000);
    expect(Object.values(await usages(cluster))).toEqual(
      Array(3).fill({ cpu: "200m", memory: "0" }),
    );
  });

  it("answers for one object, selects by label, and answers 404 for an unknown object", async () => {
    const cluster = await open();
    await cluster.create(POD, pod("one", {}, REQUESTS));
    await cluster.create(POD, pod("two", {}, REQUESTS));
    await cluster.clock.advance(45_000);
    const selected = await cluster.kube.list(POD_METRICS, { labelSelector: "app=two" });
    expect(selected.items.map(({ metadata }) => metadata.name)).toEqual(["two"]);
    expect((await cluster.get(POD_METRICS, "one")).metadata.name).toBe("one");
    await expect(cluster.get(POD_METRICS, "three")).rejects.toThrow(
      'podmetrics.metrics.k8s.io "default/three" not found',
    );
    await expect(cluster.get(NODE_METRICS, "b")).rejects.toThrow(
      'nodemetrics.metrics.k8s.io "b" not found',
    );
    await expect(
      cluster.kube.delete(POD_METRICS, { name: "one", namespace: "default" }),
    ).rejects.toThrow("the server does not allow this method on the requested resource");
  });
});
