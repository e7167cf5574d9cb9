/**
 * Rarer claims of devices, live in the sandbox with two seeds: alternatives, constraints over requests,
 * partitions, shared capacity, all devices of a node, shared claims, claims of pods that leave, and what is refused.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { Device, DeviceClaim, ResourceClaim } from "../src/apis/resource/kinds.ts";
import { awsPoolManifest } from "../src/testing/manifests.ts";
import { openWorld, type TestWorld } from "./world.ts";

const GROUP = "resource.k8s.io/v1";
const DRIVER = "fabric.example.com";
const GPU = "gpu.nvidia.com";
const MINUTE_MS = 60_000;

let world: TestWorld;
afterEach(() => world?.close());

async function open(seed: number): Promise<void> {
  world = await openWorld({
    seed,
    sells: (type) => /^(m5|g4dn|g5)\./.test(type),
    dra: true,
    logLevel: "info",
    flags: { "ignore-dra-requests": "false", "aws-feature-gates": "DRANVIDIAGPU=true" },
  });
  await apply({
    kind: "DeviceClass",
    metadata: { name: "fabric" },
    spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
  });
  await world.apply(
    awsPoolManifest({
      disruption: "{consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: 30s}",
    }),
  );
}

const apply = (object: object) => world.apply(JSON.stringify({ apiVersion: GROUP, ...object }));
const one = (more: object, deviceClassName = "fabric"): DeviceClaim => ({
  requests: [{ name: "r", exactly: { deviceClassName, ...more } }],
});
const template = (name: string, devices: DeviceClaim) =>
  apply({
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace: "default" },
    spec: { spec: { devices } },
  });
const network = (devices: readonly Device[], more: object = {}) =>
  apply({
    kind: "ResourceSlice",
    metadata: { name: "fabric" },
    spec: {
      driver: DRIVER,
      pool: { name: "fabric", generation: 1, resourceSliceCount: 1 },
      allNodes: true,
      devices,
      ...more,
    },
  });
const podOf = (name: string, claim: object, more: object = {}) =>
  world.apply(
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default", labels: { app: name } },
      spec: {
        nodeSelector: { "karpenter.sh/nodepool": "default" },
        containers: [
          {
            name: "main",
            image: "pause",
            resources: { requests: { cpu: "300m" }, claims: [{ name: "c" }] },
          },
        ],
        resourceClaims: [{ name: "c", ...claim }],
        ...more,
      },
    }),
  );
const pod = (name: string, from: string) => podOf(name, { resourceClaimTemplateName: from });
const nodes = () => world.list<Node>("Node", "v1", "karpenter.sh/nodepool=default");
const types = async () =>
  (await nodes()).map(({ metadata }) => metadata.labels?.["node.kubernetes.io/instance-type"]);
const claims = () => world.list<ResourceClaim>("ResourceClaim", GROUP);
const running = async () =>
  (await world.list<Pod>("Pod", "v1"))
    .filter(
      ({ metadata, status }) => metadata.namespace === "default" && status?.phase === "Running",
    )
    .map(({ metadata }) => metadata.name)
    .sort();
const run = (...wanted: readonly string[]) =>
  world.until(
    `${wanted.join()} run`,
    async () => (await running()).join() === [...wanted].sort().join(),
    10 * MINUTE_MS,
  );
const model = (words: string) => ({
  selectors: [
    { cel: { expression: `device.attributes["${GPU}"].productName.contains("${words}")` } },
  ],
});

describe.each([1, 2])("claims of devices, seed %i", (seed) => {
  it("take the next alternative if no machine has the first", async () => {
    await open(seed);
    await template("either", {
      requests: [
        {
          name: "r",
          firstAvailable: [
            { name: "best", deviceClassName: GPU, ...model("H100") },
            { name: "more", deviceClassName: GPU, ...model("T4"), count: 2 },
          ],
        },
      ],
    });
    await pod("a", "either");
    await run("a");
    const results = (await claims())[0]?.status?.allocation?.devices?.results ?? [];
    expect(results.map(({ request }) => request)).toEqual(["r/more", "r/more"]);
    expect((await types())[0]).toMatch(/^g4dn\./);
  });

  it("hold one constraint over two requests", async () => {
    await open(seed);
    await template("pair", {
      requests: [
        { name: "first", exactly: { deviceClassName: GPU } },
        { name: "second", exactly: { deviceClassName: GPU, ...model("A10G") } },
      ],
      constraints: [{ requests: ["first", "second"], matchAttribute: `${GPU}/productName` }],
    });
    await pod("a", "pair");
    await pod("b", "pair");
    await run("a", "b");
    for (const type of await types()) expect(type).toMatch(/^g5\./);
    for (const { status } of await claims())
      expect(new Set(status?.allocation?.devices?.results?.map(({ device }) => device)).size).toBe(
        2,
      );
  });

  it("divide partitions by two counters, and take freed ones", async () => {
    await open(seed);
    const part = (name: string, memory: number, slices: number): Device => ({
      name,
      attributes: { size: { int: memory } },
      consumesCounters: [
        {
          counterSet: "card",
          counters: { memory: { value: `${memory}` }, slices: { value: `${slices}` } },
        },
      ],
    });
    const parts = [0, 1, 2, 3].map((at) => part(`small-${at}`, 10, 2));
    await network([part("big", 20, 4), ...parts], {
      sharedCounters: [
        { name: "card", counters: { memory: { value: "40" }, slices: { value: "7" } } },
      ],
    });
    const sized = (size: number) =>
      one({
        selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].size == ${size}` } }],
      });
    await template("small", sized(10));
    await template("big", sized(20));
    await pod("big", "big");
    await run("big");
    await pod("a", "small");
    await run("a", "big");
    await pod("b", "small");
    await world.advance(5 * MINUTE_MS);
    expect(await running()).toEqual(["a", "big"]);
    expect((await nodes()).length).toBe(1);
    await world.remove("Pod", "big");
    await run("a", "b");
  });

  it("share the capacity of one device in steps, and no more than there is", async () => {
    await open(seed);
    await network([
      {
        name: "link",
        allowMultipleAllocations: true,
        capacity: {
          bandwidth: {
            value: "10",
            requestPolicy: { default: "1", validRange: { min: "1", step: "3", max: "10" } },
          },
        },
      } as unknown as Device,
    ]);
    await template("some", one({ capacity: { requests: { bandwidth: "2" } } }));
    for (const name of ["a", "b"]) await pod(name, "some");
    await run("a", "b");
    await pod("c", "some");
    await world.advance(5 * MINUTE_MS);
    // 2 is rounded up to 4, so a third does not fit into 10.
    expect(await running()).toEqual(["a", "b"]);
    expect((await nodes()).length).toBe(1);
    await world.remove("Pod", "a");
    await run("b", "c");
  });

  it("for all devices of a node get a node each, also while the first is launched", async () => {
    await open(seed);
    await template("all", one({ allocationMode: "All", ...model("T4") }, GPU));
    const wants = { nodeSelector: { "node.kubernetes.io/instance-type": "g4dn.12xlarge" } };
    await podOf("a", { resourceClaimTemplateName: "all" }, wants);
    await world.advance(15_000);
    await podOf("b", { resourceClaimTemplateName: "all" }, wants);
    await run("a", "b");
    expect(await types()).toEqual(["g4dn.12xlarge", "g4dn.12xlarge"]);
    for (const { status } of await claims())
      expect(status?.allocation?.devices?.results).toHaveLength(4);
  });

  it("that pods share keep the pods together, also one that comes later", async () => {
    await open(seed);
    await apply({
      kind: "ResourceClaim",
      metadata: { name: "shared", namespace: "default" },
      spec: { devices: one({}, GPU) },
    });
    for (const name of ["a", "b"]) await podOf(name, { resourceClaimName: "shared" });
    await run("a", "b");
    await podOf("c", { resourceClaimName: "shared" });
    await run("a", "b", "c");
    expect(await nodes()).toHaveLength(1);
  });

  it("of pods that leave slowly are not given away twice, and nothing is left over", async () => {
    await open(seed);
    await template("gpu", one({}, GPU));
    await world.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 60
      nodeSelector: {karpenter.sh/nodepool: default}
      resourceClaims: [{name: c, resourceClaimTemplateName: gpu}]
      containers:
        - name: app
          image: pause
          lifecycle: {preStop: {sleep: {seconds: 50}}}
          resources: {requests: {cpu: 300m}, claims: [{name: c}]}
`);
    const two = async () => (await running()).length === 2;
    await world.until("both run", two, 10 * MINUTE_MS);
    for (const { metadata } of await world.list<Pod>("Pod", "v1", "app=web"))
      await world.remove("Pod", metadata.name);
    await world.advance(20 * MINUTE_MS);
    expect(await running()).toHaveLength(2);
    expect(await claims()).toHaveLength(2);
    const given = (await claims()).flatMap(
      ({ status }) =>
        status?.allocation?.devices?.results?.map(({ pool, device }) => `${pool} ${device}`) ?? [],
    );
    expect(new Set(given).size).toBe(2);
    expect((await nodes()).length).toBeLessThanOrEqual(2);
  });

  it("with admin access are refused in a namespace without its label", async () => {
    await open(seed);
    await expect(template("watch", one({ adminAccess: true }, GPU))).rejects.toThrow(
      "admin-access",
    );
    await pod("a", "watch");
    await world.advance(5 * MINUTE_MS);
    expect(await nodes()).toEqual([]);
  });

  it("get no tainted device, and no node is launched for them", async () => {
    await open(seed);
    await network([
      { name: "d-0", taints: [{ key: "example.com/broken", effect: "NoSchedule" }] },
      { name: "d-1", taints: [{ key: "example.com/broken", effect: "NoExecute" }] },
    ]);
    await template("any", one({}));
    await pod("a", "any");
    await world.advance(10 * MINUTE_MS);
    expect(await running()).toEqual([]);
    expect(await nodes()).toEqual([]);
  });

  it("by an extended resource of a DeviceClass launch no node", async () => {
    await open(seed);
    await apply({
      kind: "DeviceClass",
      metadata: { name: "card" },
      spec: {
        extendedResourceName: "example.com/card",
        selectors: [{ cel: { expression: `device.driver == "${GPU}"` } }],
      },
    });
    await world.apply(`
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  nodeSelector: {karpenter.sh/nodepool: default}
  containers: [{name: app, image: pause, resources: {requests: {example.com/card: 1}, limits: {example.com/card: 1}}}]
`);
    await world.advance(10 * MINUTE_MS);
    expect(await running()).toEqual([]);
    expect(await nodes()).toEqual([]);
  });
});
