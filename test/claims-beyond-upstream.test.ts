/**
 * Claims where upstream v1.15 is known to be wrong, live in the sandbox: devices of a network, claims that pin pods
 * to a node, counters of several sets, shared capacity taken twice, missing templates, and pools of some zones.
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

async function open(): Promise<void> {
  world = await openWorld({
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

const initialized = async () =>
  (await world.list<Node>("Node", "v1", "karpenter.sh/initialized=true")).length;
const direct = (name: string, devices: DeviceClaim) =>
  apply({ kind: "ResourceClaim", metadata: { name, namespace: "default" }, spec: { devices } });
const resultsOf = async () =>
  (await claims()).flatMap(({ status }) => status?.allocation?.devices?.results ?? []);

describe("claims of devices", () => {
  it("of a network do not keep a node from being initialized", async () => {
    await open();
    await network([{ name: "d-0" }]);
    await template("any", one({}));
    await pod("a", "any");
    await run("a");
    await world.until("it is initialized", async () => (await initialized()) === 1, 5 * MINUTE_MS);
  });

  it("that pin pods to a full node launch no other node", async () => {
    await open();
    await direct("shared", one({}, GPU));
    const type = { nodeSelector: { "node.kubernetes.io/instance-type": "g4dn.xlarge" } };
    await podOf("a", { resourceClaimName: "shared" }, type);
    await run("a");
    const containers = [
      {
        name: "main",
        image: "pause",
        resources: { requests: { cpu: "3500m" }, claims: [{ name: "c" }] },
      },
    ];
    await podOf("b", { resourceClaimName: "shared" }, { ...type, containers });
    await world.advance(10 * MINUTE_MS);
    expect(await running()).toEqual(["a"]);
    expect(await nodes()).toHaveLength(1);
  });

  it("for two whole devices are met although the partitions of a third are in use", async () => {
    await open();
    const set = (at: number) => ({ name: `card-${at}`, counters: { memory: { value: "40" } } });
    const device = (name: string, at: number, size: number): Device => ({
      name,
      attributes: { size: { int: size } },
      consumesCounters: [{ counterSet: `card-${at}`, counters: { memory: { value: `${size}` } } }],
    });
    const devices = [0, 1, 2].flatMap((at) => [
      device(`whole-${at}`, at, 40),
      device(`half-${at}-a`, at, 20),
      device(`half-${at}-b`, at, 20),
    ]);
    await network(devices, { sharedCounters: [set(0), set(1), set(2)] });
    const sized = (size: number, count: number) =>
      one({
        count,
        selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].size == ${size}` } }],
      });
    await template("halves", sized(20, 2));
    await template("wholes", sized(40, 2));
    await pod("a", "halves");
    await run("a");
    await pod("b", "wholes");
    await run("a", "b");
    expect(await nodes()).toHaveLength(1);
  });

  it("that take a shared device twice count twice", async () => {
    await open();
    await network([
      {
        name: "link",
        allowMultipleAllocations: true,
        capacity: { bandwidth: { value: "10", requestPolicy: { default: "4" } } },
      } as unknown as Device,
    ]);
    await template("twice", one({ count: 2, capacity: { requests: { bandwidth: "4" } } }));
    await template("once", one({ capacity: { requests: { bandwidth: "4" } } }));
    await pod("a", "twice");
    await run("a");
    await pod("b", "once");
    await world.advance(5 * MINUTE_MS);
    expect(await running()).toEqual(["a"]);
    expect(await nodes()).toHaveLength(1);
  });

  it("from a template that does not exist yet launch no node, and are met once it does", async () => {
    await open();
    await pod("a", "later");
    await world.advance(5 * MINUTE_MS);
    expect(await nodes()).toEqual([]);
    await template("later", one({}, GPU));
    await run("a");
  });

  it("that a pod names twice need room for two, as kube-scheduler searches twice, and get one device", async () => {
    await open();
    await direct("shared", one({}, GPU));
    const resourceClaims = ["c", "d"].map((name) => ({ name, resourceClaimName: "shared" }));
    await podOf("a", {}, { resourceClaims });
    await run("a");
    expect(await resultsOf()).toHaveLength(1);
    expect(await nodes()).toHaveLength(1);
  });

  it("reach a pool in any zone of its node term, and launch no node elsewhere", async () => {
    await open();
    const ZONE = "topology.kubernetes.io/zone";
    const zones = { key: ZONE, operator: "In", values: ["us-west-2a", "us-west-2b"] };
    await network([{ name: "d-0" }, { name: "d-1" }, { name: "d-2" }], {
      allNodes: undefined,
      nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [zones] }] },
    });
    await template("any", one({}));
    for (const zone of ["a", "b", "c"]) {
      const nodeSelector = { "karpenter.sh/nodepool": "default", [ZONE]: `us-west-2${zone}` };
      await podOf(zone, { resourceClaimTemplateName: "any" }, { nodeSelector });
    }
    await run("a", "b");
    await world.advance(5 * MINUTE_MS);
    expect(await running()).toEqual(["a", "b"]);
    expect(await nodes()).toHaveLength(2);
  });

  it("of the zone that the pod requires are chosen, not those of another", async () => {
    await open();
    const ZONE = "topology.kubernetes.io/zone";
    for (const zone of ["us-west-2a", "us-west-2b"]) {
      await apply({
        kind: "ResourceSlice",
        metadata: { name: `fabric-${zone}` },
        spec: {
          driver: DRIVER,
          pool: { name: zone, generation: 1, resourceSliceCount: 1 },
          nodeSelector: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: ZONE, operator: "In", values: [zone] }] },
            ],
          },
          devices: [{ name: "d-0" }],
        },
      });
    }
    await template("any", one({}));
    for (const [name, zone] of [
      ["b", "us-west-2b"],
      ["a", "us-west-2a"],
    ] as const) {
      const nodeSelector = { "karpenter.sh/nodepool": "default", [ZONE]: zone };
      await podOf(name, { resourceClaimTemplateName: "any" }, { nodeSelector });
    }
    await run("a", "b");
    expect((await resultsOf()).map(({ pool }) => pool).sort()).toEqual([
      "us-west-2a",
      "us-west-2b",
    ]);
  });
});
