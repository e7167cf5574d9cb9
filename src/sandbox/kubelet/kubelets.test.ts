import { describe, expect, it } from "vitest";
import { DEPLOYMENT } from "../../apis/apps/kinds.ts";
import { EVENT } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { LEASE } from "../../apis/policy/kinds.ts";
import { CSI_NODE } from "../../apis/storage/kinds.ts";
import { deploymentOf, type PartsCluster, startParts } from "../testing/parts-cluster.ts";

async function createPod(
  cluster: PartsCluster,
  spec: object = {},
  annotations: Record<string, string> = {},
): Promise<Pod> {
  return cluster.create(POD, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", annotations },
    spec: { containers: [{ name: "main", image: "pause" }], ...spec },
  });
}

async function look(cluster: PartsCluster): Promise<Pod | undefined> {
  return (await cluster.pods())[0];
}

describe("a simulated machine", () => {
  it("registers a node that is not ready, and later makes it ready and removes the taint", async () => {
    const cluster = await startParts();
    cluster.node("n", { joinMs: 20_000, readyMs: 10_000 });
    await cluster.clock.advance(19_900);
    await expect(cluster.get(NODE, "n")).rejects.toMatchObject({ status: 404 });
    await cluster.clock.advance(200);
    const joined = await cluster.get(NODE, "n");
    expect(joined.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`)).toEqual([
      "node.kubernetes.io/not-ready:NoSchedule",
      "node.kubernetes.io/not-ready:NoExecute",
    ]);
    expect(joined.status?.conditions?.at(-1)).toMatchObject({ type: "Ready", status: "False" });
    await cluster.clock.advance(10_100);
    const ready = await cluster.get(NODE, "n");
    expect(ready.spec?.taints ?? []).toEqual([]);
    expect(ready.status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({
      status: "True",
      reason: "KubeletReady",
    });
    await cluster.stop();
  });

  it("has the zone label of its CSI driver, too, which old volumes name", async () => {
    const cluster = await startParts();
    const labels = { "topology.kubernetes.io/zone": "zone-a" };
    cluster.node("n", { labels, csiDrivers: [{ name: "ebs.csi.aws.com", count: 25 }] });
    cluster.node("m", { labels });
    await cluster.clock.advance(1_000);
    const key = "topology.ebs.csi.aws.com/zone";
    const zones = [await cluster.get(NODE, "n"), await cluster.get(NODE, "m")].map(
      ({ metadata }) => metadata.labels?.[key],
    );
    expect(zones).toEqual(["zone-a", undefined]);
    const { spec } = await cluster.get(CSI_NODE, "n");
    expect(spec.drivers?.[0]).toMatchObject({ topologyKeys: [key, "topology.kubernetes.io/zone"] });
    await cluster.stop();
  });

  it("renews its Lease every ten seconds while it runs, also beside 200 others", async () => {
    const cluster = await startParts();
    cluster.node("n");
    for (let other = 0; other < 200; other++) cluster.node(`other-${other}`);
    await cluster.clock.advance(1_000);
    const first = await cluster.get(LEASE, "n", "kube-node-lease");
    await cluster.clock.advance(600_000);
    const later = await cluster.get(LEASE, "n", "kube-node-lease");
    const ageMs = cluster.clock.now() - Date.parse(later.spec.renewTime ?? "");
    expect(ageMs).toBeLessThan(10_000);
    // Each of the sixty renewals of each Lease counts in its resourceVersion, although one of them was stored.
    const writes = Number(later.metadata.resourceVersion) - Number(first.metadata.resourceVersion);
    expect(writes).toBeGreaterThan(59 * 200);
    const [entry] = (later.metadata.managedFields ?? []).slice(-1) as { time?: string }[];
    expect(Date.parse(entry?.time ?? "")).toBe(Date.parse(later.spec.renewTime ?? ""));
    cluster.kubelets.leave("n");
    await cluster.clock.advance(20_000);
    expect(await cluster.get(LEASE, "n", "kube-node-lease")).toEqual(later);
    await cluster.stop();
  });

  it("renews its Lease for a watch as often as for nobody, and with the same versions", async () => {
    const renewals = async (isWatched: boolean) => {
      const cluster = await startParts();
      cluster.node("n");
      cluster.node("m");
      await cluster.clock.advance(1_000);
      const { resourceVersion } = await cluster.kube.list(LEASE);
      const seen: string[] = [];
      const watch = await cluster.kube.watch(LEASE, { resourceVersion, timeoutSeconds: 300 });
      const reading = (async () => {
        for await (const { object } of watch) {
          const { name, resourceVersion = "" } = object.metadata;
          seen.push(`${name} ${resourceVersion}`);
        }
      })();
      if (!isWatched) watch.close();
      await cluster.clock.advance(35_000);
      watch.close();
      await reading;
      const { items } = await cluster.kube.list(LEASE);
      await cluster.stop();
      return { seen, items };
    };
    const watched = await renewals(true);
    const unseen = await renewals(false);
    expect(watched.seen.map((line) => line.split(" ")[0])).toEqual([
      ...["m", "n", "m", "n", "m", "n"],
    ]);
    expect(unseen.seen).toEqual([]);
    expect(unseen.items).toEqual(watched.items);
  });

  it("that reboots is silent for half a minute, and returns with another boot ID and only its own conditions", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await cluster.clock.advance(31_000);
    const before = await cluster.get(NODE, "n");
    const broken = { type: "Gpu", status: "False" as const, reason: "XID48" };
    const conditions = [...(before.status?.conditions ?? []), broken];
    await cluster.kube.patch(
      NODE,
      { name: "n" },
      { type: "merge", body: { status: { conditions } } },
      "status",
    );
    cluster.kubelets.reboot("n");
    await cluster.clock.advance(29_000);
    expect((await cluster.get(NODE, "n")).status?.nodeInfo?.["bootID"]).toBe(
      before.status?.nodeInfo?.["bootID"],
    );
    await cluster.clock.advance(2_000);
    const after = await cluster.get(NODE, "n");
    expect(after.status?.nodeInfo?.["bootID"]).not.toBe(before.status?.nodeInfo?.["bootID"]);
    expect(after.status?.nodeInfo?.["machineID"]).toBe(before.status?.nodeInfo?.["machineID"]);
    expect(after.status?.conditions?.map(({ type }) => type)).not.toContain("Gpu");
    expect(after.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
    await cluster.stop();
  });

  it("that never becomes ready keeps its taint", async () => {
    const cluster = await startParts();
    cluster.node("n", { readyMs: "never" });
    await cluster.clock.advance(600_000);
    const node = await cluster.get(NODE, "n");
    expect(node.spec?.taints).toHaveLength(2);
    await cluster.stop();
  });

  it("labelled as unhealthy leaves the conditions that somebody wrote", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await cluster.clock.advance(31_000);
    const { status } = await cluster.get(NODE, "n");
    const conditions = (status?.conditions ?? []).map((one) =>
      one.type === "Ready" ? { ...one, status: "False", reason: "Broken" } : one,
    );
    const label = async (value: string | null) => {
      const labels = { "kwok.x-k8s.io/stage": value };
      await cluster.kube.patch(
        NODE,
        { name: "n" },
        { type: "merge", body: { metadata: { labels } } },
      );
    };
    const readiness = async () =>
      (await cluster.get(NODE, "n")).status?.conditions?.find(({ type }) => type === "Ready")
        ?.reason;
    await label("unhealthy");
    const body = { status: { conditions } };
    await cluster.kube.patch(NODE, { name: "n" }, { type: "merge", body }, "status");
    await cluster.clock.advance(600_000);
    expect(await readiness()).toBe("Broken");
    await label(null);
    await cluster.clock.advance(1_000);
    expect(await readiness()).toBe("KubeletReady");
    await cluster.stop();
  });

  it("that ends loses its node, and its pods are deleted", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await cluster.clock.advance(1_000);
    await createPod(cluster);
    await cluster.clock.advance(5_000);
    cluster.kubelets.leave("n");
    await cluster.clock.advance(31_000);
    await expect(cluster.get(NODE, "n")).rejects.toMatchObject({ status: 404 });
    expect((await look(cluster))?.status?.phase).toBe("Running");
    await cluster.clock.advance(45_000);
    expect(await cluster.pods()).toEqual([]);
    await cluster.stop();
  });

  it("that falls silent is tainted as unreachable, and its pods are evicted after five minutes", async () => {
    const cluster = await startParts({ kubelets: { nodeRemovalMs: 10_000_000 } });
    cluster.node("n");
    await cluster.clock.advance(1_000);
    await createPod(cluster);
    await cluster.clock.advance(5_000);
    cluster.kubelets.leave("n");
    await cluster.clock.advance(40_000);
    expect((await cluster.get(NODE, "n")).spec?.taints ?? []).toEqual([]);
    await cluster.clock.advance(20_000);
    const node = await cluster.get(NODE, "n");
    expect(node.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`)).toEqual([
      "node.kubernetes.io/unreachable:NoSchedule",
      "node.kubernetes.io/unreachable:NoExecute",
    ]);
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready).toMatchObject({ status: "Unknown", reason: "NodeStatusUnknown" });
    expect((await look(cluster))?.metadata.deletionTimestamp).toBeUndefined();
    await cluster.clock.advance(300_000);
    expect((await look(cluster))?.metadata.deletionTimestamp).toBeDefined();
    await cluster.stop();
  });
});

describe("a pod on a simulated kubelet", () => {
  it("creates its containers, then runs and is ready", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await cluster.clock.advance(1_000);
    await createPod(cluster);
    await cluster.clock.advance(1_000);
    const creating = await look(cluster);
    expect(creating?.status?.phase).toBe("Pending");
    expect(creating?.status?.containerStatuses?.[0]).toMatchObject({
      ready: false,
      state: { waiting: { reason: "ContainerCreating" } },
    });
    await cluster.clock.advance(2_000);
    const running = await look(cluster);
    expect(running?.status).toMatchObject({ phase: "Running", hostIP: "10.0.0.10" });
    expect(running?.status?.["podIP"]).toMatch(/^10\./);
    expect(running?.status?.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      "PodReadyToStartContainers=True",
      "Initialized=True",
      "Ready=True",
      "ContainersReady=True",
      "PodScheduled=True",
    ]);
    expect(cluster.kubelets.logs.lines("default/p", "main")).toHaveLength(1);
    const reasons = (await cluster.kube.list(EVENT)).items
      .filter(({ involvedObject }) => involvedObject.name === "p")
      .map(({ reason }) => reason);
    expect(reasons.sort()).toEqual(["Created", "Pulled", "Scheduled", "Started"]);
    await cluster.stop();
  });

  it("labelled as unhealthy runs and is never ready", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await cluster.clock.advance(31_000);
    await cluster.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: "p",
        namespace: "default",
        labels: { "kwok.x-k8s.io/stage": "unhealthy" },
      },
      spec: { containers: [{ name: "main", image: "pause" }] },
    });
    await cluster.clock.advance(60_000);
    const { status } = (await look(cluster)) as Pod;
    expect(status?.phase).toBe("Running");
    expect(status?.containerStatuses?.[0]).toMatchObject({ ready: false, started: true });
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("False");
    await cluster.stop();
  });

  it("ends after the time in its annotation, and does not restart with restartPolicy Never", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await createPod(cluster, { restartPolicy: "Never" }, { "karpenter-ts.sandbox/run-for": "30s" });
    await cluster.clock.advance(20_000);
    expect((await look(cluster))?.status?.phase).toBe("Running");
    await cluster.clock.advance(20_000);
    expect((await look(cluster))?.status?.phase).toBe("Succeeded");
    await cluster.stop();
  });

  it("counts restarts, and waits longer before each (CrashLoopBackOff)", async () => {
    const cluster = await startParts();
    cluster.node("n");
    const annotations = {
      "karpenter-ts.sandbox/run-for": "10s",
      "karpenter-ts.sandbox/exit-code": "1",
    };
    await createPod(cluster, {}, annotations);
    const seen: string[] = [];
    for (let second = 0; second <= 130; second++) {
      const status = (await look(cluster))?.status;
      const [container] = status?.containerStatuses ?? [];
      const { waiting } = (container?.["state"] ?? {}) as { waiting?: { reason: string } };
      const isReady = status?.conditions?.find(({ type }) => type === "Ready")?.status;
      const now = `${status?.phase} ${container?.["restartCount"]} ${waiting?.reason ?? "runs"} ${isReady}`;
      if (seen.at(-1)?.endsWith(now) !== true) seen.push(`${second}s ${now}`);
      await cluster.clock.advance(1_000);
    }
    expect(seen).toMatchInlineSnapshot(`
      [
        "0s Pending undefined runs undefined",
        "1s Pending 0 ContainerCreating False",
        "3s Running 0 runs True",
        "13s Running 1 runs True",
        "23s Running 1 CrashLoopBackOff False",
        "33s Running 2 runs True",
        "43s Running 2 CrashLoopBackOff False",
        "63s Running 3 runs True",
        "73s Running 3 CrashLoopBackOff False",
        "113s Running 4 runs True",
        "123s Running 4 CrashLoopBackOff False",
      ]
    `);
    const [container] = (await look(cluster))?.status?.containerStatuses ?? [];
    expect(container?.["lastState"]).toMatchObject({
      terminated: { exitCode: 1, reason: "Error" },
    });
    const told = (await cluster.kube.list(EVENT)).items.filter(
      ({ reason }) => reason === "BackOff",
    );
    expect(told.map(({ type, message }) => `${type}: ${message.split("(")[0]}`)).toEqual([
      "Warning: Back-off restarting failed container main in pod p_default",
    ]);
    await cluster.stop();
  });

  it("restarts at once if it ran for longer than ten minutes", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await createPod(cluster, {}, { "karpenter-ts.sandbox/run-for": "11m" });
    await cluster.clock.advance(34 * 60_000);
    const [container] = (await look(cluster))?.status?.containerStatuses ?? [];
    expect(container).toMatchObject({ restartCount: 3, ready: true });
    const { logs } = cluster.kubelets;
    expect(logs.lines("default/p", "main")?.map(({ text }) => text)).toEqual([
      "started container main of pod default/p again",
    ]);
    expect(logs.lines("default/p", "main", true)?.at(-1)?.text).toBe(
      "container main ended with exit code 0",
    );
    await cluster.stop();
  });

  it("stops within its grace period, whatever time its containers need", async () => {
    const cluster = await startParts();
    cluster.node("n");
    await createPod(
      cluster,
      { terminationGracePeriodSeconds: 10 },
      { "karpenter-ts.sandbox/stop-after": "60s" },
    );
    await cluster.clock.advance(5_000);
    await cluster.kube.delete(POD, { name: "p", namespace: "default" });
    await cluster.clock.advance(9_500);
    expect(await cluster.pods()).toHaveLength(1);
    await cluster.clock.advance(1_000);
    expect(await cluster.pods()).toHaveLength(0);
    await cluster.stop();
  });

  it.each([
    ["a sleep", { sleep: { seconds: 20 } }, 30, 21],
    ["a sleep that the grace period ends", { sleep: { seconds: 300 } }, 30, 31],
    [
      "a command that sleeps",
      { exec: { command: ["/bin/sh", "-c", "sleep 5; sleep 0.25m"] } },
      30,
      21,
    ],
    ["a command that does not", { exec: { command: ["nginx", "-s", "quit"] } }, 30, 1],
    ["no grace at all", { sleep: { seconds: 20 } }, 1, 2],
  ] as const)("runs preStop hooks before it stops: %s", async (_, preStop, grace, seconds) => {
    const cluster = await startParts();
    cluster.node("n");
    await createPod(cluster, {
      terminationGracePeriodSeconds: grace,
      containers: [
        { name: "main", image: "nginx", lifecycle: { preStop } },
        { name: "side", image: "nginx" },
      ],
    });
    await cluster.clock.advance(5_000);
    await cluster.kube.delete(POD, { name: "p", namespace: "default" });
    await cluster.clock.advance(seconds * 1_000 - 500);
    const [pod] = await cluster.pods();
    expect(pod?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Ready", status: "True" }),
    );
    await cluster.clock.advance(1_000);
    expect(await cluster.pods()).toHaveLength(0);
    await cluster.stop();
  });

  it("waits for its node's network unless it uses the host's", async () => {
    const cluster = await startParts();
    cluster.node("n", { readyMs: "never" });
    const tolerations = [{ operator: "Exists" }];
    await createPod(cluster, { tolerations });
    await cluster.clock.advance(60_000);
    expect((await look(cluster))?.spec.nodeName).toBe("n");
    expect((await look(cluster))?.status?.phase).toBe("Pending");
    await cluster.stop();
  });
});

describe("scheduler, kubelets and workload controllers together", () => {
  it("place pending pods as soon as a node joins, and report why they were pending", async () => {
    const cluster = await startParts();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 3, "1500m"));
    await cluster.clock.advance(1_000);
    const [waiting] = await cluster.pods();
    expect(waiting?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message: "no nodes available to schedule pods",
      }),
    );
    cluster.node("a", { joinMs: 5_000, readyMs: 5_000 });
    cluster.node("b", { joinMs: 5_000, readyMs: 5_000 });
    await cluster.clock.advance(30_000);
    const pods = await cluster.pods();
    expect(pods.map(({ status }) => status?.phase)).toEqual(["Running", "Running", "Running"]);
    await cluster.stop();
  });

  it("do the same again with the same seed", async () => {
    const run = async (): Promise<string> => {
      const cluster = await startParts({ seed: "again" });
      for (const name of ["a", "b", "c"]) cluster.node(name, { joinMs: 3_000, readyMs: 2_000 });
      await cluster.create(DEPLOYMENT, deploymentOf("web", 30, "250m"));
      await cluster.clock.advance(60_000);
      await cluster.stop();
      return cluster.trace.map((event) => JSON.stringify(event)).join("\n");
    };
    const first = await run();
    expect(first.split("\n").length).toBeGreaterThan(90);
    expect(await run()).toBe(first);
  });
});
