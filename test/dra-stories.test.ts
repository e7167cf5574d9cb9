/**
 * Rarer ways to claim devices, live in the sandbox: shared GPUs, partitions, tainted devices, claims that leave, and
 * claims that only monitor. What the sandbox's kube-scheduler allocates is counted, and which nodes were launched.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Node } from "../src/apis/core/node.ts";
import type { Pod } from "../src/apis/core/pod.ts";
import type { Device, DeviceClaim, ResourceClaim } from "../src/apis/resource/kinds.ts";
import { awsPoolManifest } from "../src/testing/manifests.ts";
import { openWorld, type TestWorld } from "./world.ts";

const GROUP = "resource.k8s.io/v1";
const DRIVER = "fabric.example.com";
const POOL = awsPoolManifest({ disruption: "{consolidateAfter: Never}" });

let world: TestWorld;
afterEach(() => world?.close());

async function open(pool = POOL): Promise<void> {
  world = await openWorld({
    sells: (type) => /^(m5|g4dn)\./.test(type),
    dra: true,
    logLevel: "info",
    flags: {
      "ignore-dra-requests": "false",
      "aws-feature-gates": "DRANVIDIAGPU=true",
      "feature-gates": "CapacityBuffer=true",
    },
  });
  await apply({
    kind: "DeviceClass",
    metadata: { name: "fabric" },
    spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
  });
  await world.apply(pool);
}

const apply = (object: object) => world.apply(JSON.stringify({ apiVersion: GROUP, ...object }));
const one = (more: object, deviceClassName = "fabric"): DeviceClaim => ({
  requests: [{ name: "r", exactly: { deviceClassName, ...more } }],
});
const template = (name: string, devices: DeviceClaim, namespace = "default") =>
  apply({
    kind: "ResourceClaimTemplate",
    metadata: { name, namespace },
    spec: { spec: { devices } },
  });
/** Devices of a network, which all nodes reach. */
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
const pod = (name: string, claim: object, namespace = "default") =>
  world.apply(
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace },
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
      },
    }),
  );
const of = (name: string) => ({ resourceClaimTemplateName: name });

const running = async () =>
  (await world.list<Pod>("Pod", "v1"))
    .filter(({ spec, status }) => "resourceClaims" in spec && status?.phase === "Running")
    .map(({ metadata }) => metadata.name);
const nodes = () => world.list<Node>("Node", "v1", "karpenter.sh/nodepool=default");
const run = async (...names: readonly string[]) => {
  const isSo = async () => (await running()).join() === names.join();
  await world.until(`${names.join()} run`, isSo, 300_000);
  // No other pod runs later.
  await world.advance(180_000);
  expect(await running()).toEqual(names);
};
/** The last reason that Karpenter gave for the pod. */
async function why(name: string): Promise<string | undefined> {
  const events = await world.list("Event", "v1");
  return (events as unknown as readonly KarpenterEvent[])
    .filter(({ involvedObject, reason, source }) =>
      involvedObject.name === name && reason === "FailedScheduling"
        ? source?.component === "karpenter"
        : false,
    )
    .at(-1)?.message;
}
interface KarpenterEvent {
  readonly involvedObject: { readonly name: string };
  readonly reason: string;
  readonly message: string;
  readonly source?: { readonly component?: string };
}

describe("a simulated GPU", () => {
  it("can be shared by as many claims as the node class's annotation says", async () => {
    const key = "karpenter.k8s.aws/nvidia-consumable-capacity";
    await open(
      POOL.replace(
        "kind: EC2NodeClass\nmetadata: {name: default}",
        `kind: EC2NodeClass\nmetadata: {name: default, annotations: {${key}: "4"}}`,
      ),
    );
    await template("gpu", one({}, "gpu.nvidia.com"));
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await pod(name, of("gpu"));
    await run(...names);
    expect(await nodes()).toHaveLength(2);
  });

  it("can be monitored by claims of a permitted namespace, beside the claim that uses it", async () => {
    await open();
    const admin = one({ adminAccess: true }, "gpu.nvidia.com");
    await expect(template("watch", admin)).rejects.toThrow(/admin-access: true` label/);
    await world.apply(
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: mon, labels: {resource.kubernetes.io/admin-access: "true"}}',
    );
    await template("watch", admin, "mon");
    await template("gpu", one({}, "gpu.nvidia.com"));
    await pod("use", of("gpu"));
    await pod("watch-a", of("watch"), "mon");
    await pod("watch-b", of("watch"), "mon");
    await run("use", "watch-a", "watch-b");
    expect(await nodes()).toHaveLength(1);
  });

  it("is kept free by a CapacityBuffer, taken at once, and kept free again", async () => {
    await open();
    await template("gpu", one({}, "gpu.nvidia.com"));
    await world.apply(BUFFER);
    await world.advance(180_000);
    expect(await nodes()).toHaveLength(1);
    await pod("a", of("gpu"));
    await world.advance(5_000);
    expect(await running()).toEqual(["a"]);
    await world.advance(180_000);
    expect(await nodes()).toHaveLength(2);
  });
});

const BUFFER = `
apiVersion: v1
kind: PodTemplate
metadata: {name: room, namespace: default}
template:
  spec:
    nodeSelector: {karpenter.sh/nodepool: default}
    resourceClaims: [{name: c, resourceClaimTemplateName: gpu}]
    containers: [{name: app, image: pause, resources: {requests: {cpu: 300m}, claims: [{name: c}]}}]
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec: {podTemplateRef: {name: room}, replicas: 1}
`;

describe("simulated network devices", () => {
  it("are parts of a device, limited by its shared counters", async () => {
    await open();
    const part = (name: string, memory: number): Device => ({
      name,
      attributes: { memory: { int: memory } },
      consumesCounters: [{ counterSet: "gpu", counters: { memory: { value: `${memory}Gi` } } }],
    });
    await network([part("whole", 40), part("half-0", 20), part("half-1", 20), part("tenth", 4)], {
      sharedCounters: [{ name: "gpu", counters: { memory: { value: "40Gi" } } }],
    });
    const sized = (memory: number) =>
      one({
        selectors: [{ cel: { expression: `device.attributes["${DRIVER}"].memory == ${memory}` } }],
      });
    await template("whole", sized(40));
    await template("half", sized(20));
    await template("tenth", sized(4));
    await pod("half-a", of("half"));
    await pod("half-b", of("half"));
    await run("half-a", "half-b");
    await pod("tenth", of("tenth"));
    await pod("whole", of("whole"));
    await world.advance(60_000);
    expect(await running()).toEqual(["half-a", "half-b"]);
    expect(await nodes()).toHaveLength(1);
    expect(await why("whole")).toContain("too little of counter gpu/memory is left");
    await world.remove("Pod", "half-a");
    await world.remove("Pod", "half-b");
    await world.remove("Pod", "tenth");
    await run("whole");
  });

  it("are given only to claims that tolerate their taints", async () => {
    await open();
    await network([
      { name: "d-0", taints: [{ key: "example.com/broken", effect: "NoSchedule" }] },
      { name: "d-1", taints: [{ key: "example.com/old", value: "yes", effect: "NoExecute" }] },
    ]);
    await template("any", one({}));
    const tolerating = (toleration: object) => one({ tolerations: [toleration] });
    await template("broken", tolerating({ key: "example.com/broken", operator: "Exists" }));
    await template("old", tolerating({ key: "example.com/old", value: "yes" }));
    await template("no", tolerating({ key: "example.com/old", value: "no" }));
    for (const name of ["any", "broken", "no", "old"]) await pod(name, of(name));
    await run("broken", "old");
    expect(await nodes()).toHaveLength(1);
    expect(await why("any")).toContain("2 tainted");
  });

  it("are given to no pod through a claim under deletion, and to the next pod through a new claim", async () => {
    await open();
    await network([{ name: "d-0" }]);
    const shared = {
      kind: "ResourceClaim",
      metadata: { name: "shared" },
      spec: { devices: one({}) },
    };
    await apply(shared);
    await pod("first", { resourceClaimName: "shared" });
    await run("first");
    await world.remove("ResourceClaim", "shared", GROUP);
    await pod("second", { resourceClaimName: "shared" });
    await run("first");
    expect(await nodes()).toHaveLength(1);
    await world.remove("Pod", "first");
    const isGone = async () =>
      (await world.list<ResourceClaim>("ResourceClaim", GROUP)).length === 0;
    await world.until("the claim is gone", isGone);
    await apply(shared);
    await run("second");
  });
});
