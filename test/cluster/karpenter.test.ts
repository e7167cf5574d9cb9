/**
 * The operator on a real control plane with the kwok provider: what users see while nodes are launched and
 * removed.
 */
import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Node } from "../../src/apis/core/node.ts";
import type { Pod } from "../../src/apis/core/pod.ts";
import type { KubeObject } from "../../src/apis/meta.ts";
import { CLASS_REF, NODE_CLASS, nodePool, pauseDeployment } from "./kwok-objects.ts";
import { type LiveCluster, openLiveCluster, upstreamCrds } from "./live-cluster.ts";

const KARPENTER = "karpenter.sh/v1";

const SMALL = { cpu: "1", memory: "512Mi" };

describe("karpenter controller on a real control plane", () => {
  let cluster: LiveCluster;
  const nodes = () => cluster.list<Node>("Node", "v1", "karpenter.sh/nodepool");
  const claims = () => cluster.list("NodeClaim", KARPENTER);
  const pods = (app: string) => cluster.list<Pod>("Pod", "v1", `app=${app}`);
  const running = async (app: string) =>
    (await pods(app)).filter(
      (pod) => pod.status?.phase === "Running" && pod.metadata.deletionTimestamp === undefined,
    );
  const scale = (name: string, replicas: number) =>
    cluster.merge("Deployment", name, { spec: { replicas } }, "apps/v1");

  beforeAll(async () => {
    cluster = await openLiveCluster();
    await cluster.apply(NODE_CLASS);
  });
  afterAll(() => cluster?.close());
  afterEach(async () => {
    for (const kind of ["Deployment"] as const)
      for (const { metadata } of await cluster.list(kind, "apps/v1", "!k8s-app"))
        await cluster.remove(kind, metadata.name, "apps/v1");
    for (const { metadata } of await cluster.list("PodDisruptionBudget", "policy/v1"))
      await cluster.remove("PodDisruptionBudget", metadata.name, "policy/v1");
    for (const { metadata } of await cluster.list("NodePool", KARPENTER))
      await cluster.remove("NodePool", metadata.name, KARPENTER);
    const gone = async () => (await claims()).length === 0 && (await nodes()).length === 0;
    await cluster.until("everything is gone", gone, 90_000);
  });

  it("creates nodes for pods and removes them when they are empty", async () => {
    await cluster.apply(nodePool("default"));
    await cluster.apply(pauseDeployment("web", { replicas: 20, requests: SMALL }));
    await cluster.until("20 pods run", async () => (await running("web")).length === 20);
    const initialized = (node: Node) =>
      node.metadata.labels?.["karpenter.sh/initialized"] === "true";
    await cluster.until("nodes are initialized", async () => (await nodes()).every(initialized));
    expect((await claims()).length).toBe((await nodes()).length);
    await scale("web", 0);
    await cluster.until("no node is left", async () => (await nodes()).length === 0, 90_000);
    await cluster.until("no claim is left", async () => (await claims()).length === 0);
  });

  it("does what the examples promise", async () => {
    const example = (file: string) =>
      readFileSync(new URL(`../../examples/${file}`, import.meta.url), "utf8");
    await cluster.apply(example("kwok/nodepool.yaml"));
    await cluster.apply(example("inflate.yaml"));
    await scale("inflate", 5);
    await cluster.until("5 pods run", async () => (await running("inflate")).length === 5);
  });

  it("waits for a disruption budget when a node is deleted", async () => {
    await cluster.apply(nodePool("default"));
    await cluster.apply(pauseDeployment("guarded", { replicas: 2, requests: SMALL }));
    await cluster.until("2 pods run", async () => (await running("guarded")).length === 2);
    await cluster.apply({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "guarded", namespace: "default" },
      spec: { minAvailable: 2, selector: { matchLabels: { app: "guarded" } } },
    } as KubeObject);
    const before = await nodes();
    const first = before[0]?.metadata.name ?? "";
    const told = async () => {
      const budgets = await cluster.list<KubeObject & { status?: { currentHealthy?: number } }>(
        "PodDisruptionBudget",
        "policy/v1",
      );
      return budgets[0]?.status?.currentHealthy === 2;
    };
    await cluster.until("the budget counts its pods", told);
    await cluster.remove("Node", first);
    const tainted = async () =>
      (await nodes()).some((node) =>
        node.spec?.taints?.some(({ key }) => key === "karpenter.sh/disrupted"),
      );
    await cluster.until("the node is tainted", tainted);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await nodes()).map(({ metadata }) => metadata.name)).toContain(first);
    expect((await running("guarded")).length).toBe(2);
    await cluster.merge(
      "PodDisruptionBudget",
      "guarded",
      { spec: { minAvailable: 0 } },
      "policy/v1",
    );
    const replaced = async () => !(await nodes()).some(({ metadata }) => metadata.name === first);
    await cluster.until("the node is gone", replaced, 90_000);
    await cluster.until("2 pods run again", async () => (await running("guarded")).length === 2);
  });

  it("moves a single replica that asks for it without downtime, even if its budget allows no eviction", async () => {
    await cluster.apply(nodePool("default"));
    const web = pauseDeployment("web", { replicas: 1, requests: SMALL });
    const annotations = { "karpenter.sh/zero-downtime": "true" };
    await cluster.apply({ ...web, metadata: { ...web.metadata, annotations } });
    await cluster.apply({
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "web", namespace: "default" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
    } as KubeObject);
    const ready = async () =>
      (await running("web")).filter(({ status }) =>
        status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
      );
    await cluster.until("the pod is ready", async () => (await ready()).length === 1);
    const before = (await nodes())[0]?.metadata.name ?? "";
    await cluster.remove("Node", before);
    let least = 1;
    const gone = async () => {
      least = Math.min(least, (await ready()).length);
      return !(await nodes()).some(({ metadata }) => metadata.name === before);
    };
    await cluster.until("the node is gone", gone, 120_000);
    await cluster.until("one pod is left", async () => (await ready()).length === 1);
    expect(least).toBe(1);
    expect((await ready())[0]?.spec.nodeName).not.toBe(before);
  });

  it("replaces nodes whose pool was edited", async () => {
    await cluster.apply(nodePool("default"));
    await cluster.apply(pauseDeployment("web", { replicas: 2, requests: SMALL }));
    await cluster.until("2 pods run", async () => (await running("web")).length === 2);
    await cluster.merge(
      "NodePool",
      "default",
      { spec: { template: { metadata: { labels: { team: "red" } } } } },
      KARPENTER,
    );
    const red = async () => {
      const all = await nodes();
      return all.length > 0 && all.every(({ metadata }) => metadata.labels?.["team"] === "red");
    };
    await cluster.until("all nodes are red", red, 120_000);
    await cluster.until("2 pods run again", async () => (await running("web")).length === 2);
  });

  it("reserves room for daemons on each new node", async () => {
    await cluster.apply(nodePool("default"));
    const daemon = pauseDeployment("daemon", {
      replicas: 1,
      requests: { ...SMALL, cpu: "3" },
    }) as KubeObject & { spec: Record<string, unknown> };
    const { replicas: _, ...spec } = daemon.spec;
    await cluster.apply({ ...daemon, kind: "DaemonSet", spec } as KubeObject);
    await cluster.apply(pauseDeployment("web", { replicas: 1, requests: SMALL }));
    await cluster.until("the pod runs", async () => (await running("web")).length === 1);
    await cluster.until("its daemon runs", async () => (await running("daemon")).length === 1);
    const [node, ...others] = await nodes();
    expect(others).toEqual([]);
    expect(Number(node?.status?.capacity?.["cpu"])).toBeGreaterThan(4);
    const [app] = await running("web");
    const [beside] = await running("daemon");
    expect(beside?.spec.nodeName).toBe(app?.spec.nodeName);
    await cluster.remove("DaemonSet", "daemon", "apps/v1");
  });

  it("plans no second node for pods whose node is being launched", async () => {
    await cluster.apply({
      apiVersion: "karpenter.kwok.sh/v1alpha1",
      kind: "KWOKNodeClass",
      metadata: { name: "slow" },
      spec: { nodeRegistrationDelay: "15s" },
    } as KubeObject);
    const nodeClassRef = { ...CLASS_REF, name: "slow" };
    await cluster.apply(nodePool("default", { template: { spec: { nodeClassRef } } }));
    await cluster.apply(pauseDeployment("web", { replicas: 3, requests: SMALL }));
    let most = 0;
    await cluster.until("3 pods run", async () => {
      most = Math.max(most, (await claims()).length);
      return (await running("web")).length === 3;
    });
    expect(most).toBe(1);
  });

  it("stops at a pool's limits and reports it", async () => {
    await cluster.apply(nodePool("default", { spec: { limits: { cpu: "4" } } }));
    await cluster.apply(
      pauseDeployment("web", { replicas: 10, requests: { ...SMALL, cpu: "1500m" } }),
    );
    await cluster.until("a pod runs", async () => (await running("web")).length > 0);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    const cpu = (await nodes()).reduce(
      (sum, node) => sum + Number(node.status?.capacity?.["cpu"]),
      0,
    );
    expect(cpu).toBeLessThanOrEqual(4);
    expect((await running("web")).length).toBeLessThan(10);
    expect(cluster.log().join("\n")).toContain("limits");
  });
});

describe("karpenter controller under upstream's own CRDs", () => {
  let cluster: LiveCluster;
  beforeAll(async () => {
    cluster = await openLiveCluster(upstreamCrds());
  });
  afterAll(() => cluster?.close());

  it("creates and removes nodes, with no other generation of the API installed", async () => {
    await cluster.apply(NODE_CLASS);
    await cluster.apply(nodePool("default"));
    await cluster.apply(pauseDeployment("web", { replicas: 5, requests: SMALL }));
    const ready = async () => {
      const pods = await cluster.list<Pod>("Pod", "v1", "app=web");
      return pods.filter(({ status }) => status?.phase === "Running").length === 5;
    };
    await cluster.until("5 pods run", ready);
    await cluster.merge("Deployment", "web", { spec: { replicas: 0 } }, "apps/v1");
    const empty = async () => (await cluster.list("NodeClaim", KARPENTER)).length === 0;
    await cluster.until("no claim is left", empty, 90_000);
    expect(await cluster.list("Node", "v1", "karpenter.sh/nodepool")).toEqual([]);
  });
});
