import { describe, expect, it } from "vitest";
import { POD } from "../../../apis/core/pod.ts";
import {
  DEVICE_CLASS,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
  RESOURCE_SLICE,
  type ResourceClaim,
} from "../../../apis/resource/kinds.ts";
import { type PartsCluster, startParts } from "../../testing/parts-cluster.ts";

const API = "resource.k8s.io/v1";
const DRIVER = "gpu.example.com";

async function withGpus(count: number): Promise<PartsCluster> {
  const cluster = await startParts();
  cluster.node("node-a");
  const selectors = [{ cel: { expression: `device.driver == "${DRIVER}"` } }];
  await cluster.create(DEVICE_CLASS, {
    apiVersion: API,
    kind: "DeviceClass",
    metadata: { name: DRIVER },
    spec: { selectors },
  });
  await cluster.create(RESOURCE_SLICE, {
    apiVersion: API,
    kind: "ResourceSlice",
    metadata: { name: "node-a-gpus" },
    spec: {
      driver: DRIVER,
      pool: { name: "node-a", generation: 1, resourceSliceCount: 1 },
      nodeName: "node-a",
      devices: Array.from({ length: count }, (_, at) => ({ name: `gpu-${at}` })),
    },
  });
  return cluster;
}

const ONE_GPU = { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: DRIVER } }] } };

function template(): object {
  const metadata = { name: "one-gpu", namespace: "default" };
  const spec = { metadata: { labels: { team: "a" } }, spec: ONE_GPU };
  return { apiVersion: API, kind: "ResourceClaimTemplate", metadata, spec };
}

function pod(name: string, claim: object): object {
  const resources = { claims: [{ name: "gpu" }] };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      containers: [{ name: "main", image: "pause", resources }],
      resourceClaims: [{ name: "gpu", ...claim }],
    },
  };
}

const FROM_TEMPLATE = { resourceClaimTemplateName: "one-gpu" };

async function claims(cluster: PartsCluster): Promise<readonly ResourceClaim[]> {
  return (await cluster.kube.list(RESOURCE_CLAIM, {})).items;
}

async function reasonOf(cluster: PartsCluster, name: string): Promise<string | undefined> {
  const { status } = await cluster.get(POD, name);
  return status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
}

describe("a pod with a claim from a template", () => {
  it("gets its own claim, and a device that is freed with the pod", async () => {
    const cluster = await withGpus(1);
    await cluster.create(RESOURCE_CLAIM_TEMPLATE, template());
    await cluster.create(POD, pod("p", FROM_TEMPLATE));
    await cluster.clock.advance(20_000);
    const placed = await cluster.get(POD, "p");
    expect(placed.spec.nodeName).toBe("node-a");
    const [claim] = await claims(cluster);
    expect(claim?.metadata).toMatchObject({
      generateName: "p-gpu-",
      labels: { team: "a" },
      annotations: { "resource.kubernetes.io/pod-claim-name": "gpu" },
      finalizers: ["resource.kubernetes.io/delete-protection"],
    });
    expect(placed.status).toMatchObject({
      resourceClaimStatuses: [{ name: "gpu", resourceClaimName: claim?.metadata.name }],
    });
    expect(claim?.status).toEqual({
      allocation: {
        devices: { results: [{ request: "gpu", driver: DRIVER, pool: "node-a", device: "gpu-0" }] },
        nodeSelector: {
          nodeSelectorTerms: [
            { matchFields: [{ key: "metadata.name", operator: "In", values: ["node-a"] }] },
          ],
        },
      },
      reservedFor: [{ resource: "pods", name: "p", uid: placed.metadata.uid }],
    });
    await cluster.kube.delete(POD, { name: "p", namespace: "default" });
    await cluster.clock.advance(60_000);
    expect(await claims(cluster)).toEqual([]);
    await cluster.stop();
  });

  it("is pending while others have the devices, and is placed once one is free", async () => {
    const cluster = await withGpus(2);
    await cluster.create(RESOURCE_CLAIM_TEMPLATE, template());
    for (const name of ["a", "b", "c"]) await cluster.create(POD, pod(name, FROM_TEMPLATE));
    await cluster.clock.advance(20_000);
    const pods = await cluster.pods();
    const waiting = pods.filter(({ spec }) => spec.nodeName === undefined);
    expect(waiting).toHaveLength(1);
    const last = waiting[0]?.metadata.name ?? "";
    expect(await reasonOf(cluster, last)).toBe(
      "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: " +
        "0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
    );
    const devices = (await claims(cluster)).flatMap(
      ({ status }) => status?.allocation?.devices?.results ?? [],
    );
    expect(devices.map(({ device }) => device).sort()).toEqual(["gpu-0", "gpu-1"]);
    const leaving = pods.find(({ spec }) => spec.nodeName !== undefined)?.metadata.name ?? "";
    await cluster.kube.delete(POD, { name: leaving, namespace: "default" });
    await cluster.clock.advance(60_000);
    expect((await cluster.get(POD, last)).spec.nodeName).toBe("node-a");
    await cluster.stop();
  });
});

describe("a claim that several pods share", () => {
  it("is allocated once, and freed when the last of the pods is gone", async () => {
    const cluster = await withGpus(2);
    const shared = { resourceClaimName: "shared" };
    await cluster.create(POD, pod("early", shared));
    await cluster.clock.advance(5_000);
    expect(await reasonOf(cluster, "early")).toBeUndefined();
    const metadata = { name: "shared", namespace: "default" };
    await cluster.create(RESOURCE_CLAIM, {
      apiVersion: API,
      kind: "ResourceClaim",
      metadata,
      spec: ONE_GPU,
    });
    await cluster.create(POD, pod("late", shared));
    await cluster.clock.advance(20_000);
    const { status } = await cluster.get(RESOURCE_CLAIM, "shared");
    expect(status?.reservedFor?.map(({ name }) => name).sort()).toEqual(["early", "late"]);
    expect(status?.allocation?.devices?.results).toHaveLength(1);
    for (const name of ["early", "late"])
      await cluster.kube.delete(POD, { name, namespace: "default" });
    await cluster.clock.advance(60_000);
    const after = await cluster.get(RESOURCE_CLAIM, "shared");
    expect(after.status?.allocation).toBeUndefined();
    expect(after.status?.reservedFor).toBeUndefined();
    expect(after.metadata.finalizers).toBeUndefined();
    await cluster.stop();
  });
});
