// Planning of pods from nodes that a command removes, together with pending pods. Also pools that can launch nothing.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import {
  DEVICE_CLASS,
  RESOURCE_CLAIM,
  RESOURCE_CLAIM_TEMPLATE,
} from "../../apis/resource/kinds.ts";
import { GREEDY_PLANNER } from "../../core/planner/planner-options.ts";
import { KubeError } from "../../kube/errors.ts";
import { compileDeviceSelector } from "../../readers/device-selectors.ts";
import { node, nodeClaim, nodePool, pod } from "../../testing/builders.ts";
import {
  claimsOf,
  claimTemplate,
  DRIVER,
  deviceClaim,
  GPU_CLASS,
  gpus,
  resourceClaim,
  templates,
} from "../../testing/devices.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { stateNodeClaim } from "../state/nodeclaims.ts";
import { stateNode } from "../state/nodes.ts";
import { statePod } from "../state/pods.ts";
import { createBatcher } from "./batcher.ts";
import { createPodTimes } from "./pod-times.ts";
import { provisioner } from "./provisioner.ts";
import { podTrigger } from "./triggers.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

/**
 * The new nodes for two pods: `moving`, whose node is being removed, and `waiting`, which is pending. `placed`: pods
 * for which a command has a place. `prepare`: changes the world before the first pass.
 */
async function asked(
  placed: readonly string[],
  limits: Record<string, string> = {},
  prepare: (world: FakeWorld) => Promise<void> = async () => {},
) {
  const world = fakeWorld();
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
  const pool = nodePool({ spec: { limits }, template: { nodeClassRef: CLASS_REF } });
  const conditions = [{ type: "Ready", status: "True" as const }];
  await world.api.create(NODE_POOL, { ...pool, status: { conditions } });
  const claim = nodeClaim({ name: "old" });
  await world.api.create(NODE_CLAIM, claim);
  await world.api.create(NODE, node({ name: "old" }));
  await world.api.create(POD, pod({ name: "moving", cpu: "12", nodeName: "old" }));
  await world.api.create(POD, pod({ name: "waiting", cpu: "12" }));
  world.cluster.markForDeletion("old");
  await prepare(world);
  const batcher = createBatcher(world);
  const times = createPodTimes(world);
  const steering = {
    hasPlace: ({ metadata }: { metadata: { name: string } }) => placed.includes(metadata.name),
  };
  await world.run(
    ...[stateNode(world), stateNodeClaim(world), statePod(world)],
    podTrigger(world, batcher, times),
    provisioner(world, batcher, times, steering),
  );
  await world.clock.advance(5_000);
  await world.stop();
  const made = world.api.all(NODE_CLAIM).filter(({ metadata }) => metadata.name !== "old");
  const waits = world.published.some(
    ({ reason, object }) => reason === "FailedScheduling" && object.metadata.name === "waiting",
  );
  return { nodes: made.length, waits };
}

describe("pods for which a disruption command has planned a node", () => {
  it("get no further NodeClaim", async () => {
    expect(await asked([])).toEqual({ nodes: 2, waits: false });
    expect(await asked(["moving"])).toEqual({ nodes: 1, waits: false });
    expect(await asked(["moving", "waiting"])).toEqual({ nodes: 0, waits: false });
  });

  it("take nothing of the NodePool limit from pending pods", async () => {
    expect(await asked([], { cpu: "16" })).toEqual({ nodes: 1, waits: true });
    expect(await asked(["moving"], { cpu: "16" })).toEqual({ nodes: 1, waits: false });
  });
});

describe("pods whose planned nodes refused them", () => {
  it("take nothing of the NodePool limit from other pods while they wait", async () => {
    const held = async ({ api, clock, cluster }: FakeWorld) => {
      const one = await api.create(POD, pod({ name: "held", cpu: "12" }));
      for (const _ of ["first", "second"])
        cluster.placements.refusals.refused([one], clock.elapsedMs());
    };
    expect(await asked(["moving"], { cpu: "16" }, held)).toEqual({ nodes: 1, waits: false });
  });

  it("get a second node at once, also if other pods are planned twice because of limits", async () => {
    const lost = async ({ api, cluster }: FakeWorld) => {
      const taints = [{ key: "stranger", effect: "NoSchedule" as const }];
      await api.create(NODE, node({ name: "refuses", capacity: { cpu: "16" }, taints }));
      const one = await api.create(POD, pod({ name: "lost", cpu: "12" }));
      cluster.place("refuses", [one], 0);
    };
    expect(await asked(["moving"], { cpu: "32" }, lost)).toEqual({ nodes: 2, waits: false });
  });
});

describe("a pod with ResourceClaims", () => {
  const claimed = async (settings: Parameters<typeof fakeWorld>[0]) => {
    const world = fakeWorld(settings);
    await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
    const pool = nodePool({ template: { nodeClassRef: CLASS_REF } });
    const conditions = [{ type: "Ready", status: "True" as const }];
    await world.api.create(NODE_POOL, { ...pool, status: { conditions } });
    const typesOf = world.cloud.getInstanceTypes;
    Object.assign(world.cloud, {
      getInstanceTypes: async (...of: Parameters<typeof typesOf>) => {
        const types = await typesOf(...of);
        return types.map((type) =>
          type.name === "c-4x" ? { ...type, dynamicResources: templates(gpus(2)) } : type,
        );
      },
    });
    await world.api.create(DEVICE_CLASS, GPU_CLASS);
    await world.api.create(
      RESOURCE_CLAIM_TEMPLATE,
      claimTemplate("two", deviceClaim({ count: 2 })),
    );
    const statuses = [{ name: "c0", resourceClaimName: "p-two" }];
    const waiting = pod({ name: "p", cpu: "1", spec: claimsOf("template:two") });
    const made = resourceClaim("p-two", deviceClaim({ count: 2 }));
    const { uid = "" } = waiting.metadata;
    const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true };
    const metadata = { ...made.metadata, ownerReferences: [owner] };
    await world.api.create(RESOURCE_CLAIM, { ...made, metadata });
    const status = { ...waiting.status, resourceClaimStatuses: statuses };
    await world.api.create(POD, { ...waiting, status });
    const batcher = createBatcher(world);
    const times = createPodTimes(world);
    await world.run(
      ...[stateNode(world), stateNodeClaim(world), statePod(world)],
      podTrigger(world, batcher, times),
      provisioner(world, batcher, times, { hasPlace: () => false }),
    );
    await world.clock.advance(5_000);
    await world.stop();
    return world;
  };

  it("gets a NodeClaim of an instance type with these devices, annotated with the DRA drivers", async () => {
    const world = await claimed({ compileSelector: compileDeviceSelector });
    const [claim] = world.api.all(NODE_CLAIM);
    expect(claim?.metadata.annotations?.["karpenter.sh/requested-dra-drivers"]).toBe(DRIVER);
    const types = claim?.spec.requirements.find(({ key }) => key.endsWith("/instance-type"));
    expect(types?.values).toEqual(["c-4x"]);
  });

  it("gets FailedScheduling with upstream's message where ResourceClaims are ignored", async () => {
    const world = await claimed({});
    expect(world.api.all(NODE_CLAIM)).toEqual([]);
    const told = world.published.find(({ reason }) => reason === "FailedScheduling");
    expect(told?.message).toContain("not yet supported by Karpenter");
  });
});

describe("a NodePool whose requirements no instance type meets", () => {
  it("gets the event NoCompatibleInstanceTypes, at most once a minute", async () => {
    const world = fakeWorld();
    await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
    const requirements = [
      { key: "node.kubernetes.io/instance-type", operator: "In" as const, values: ["no-such"] },
    ];
    const conditions = [{ type: "Ready", status: "True" as const }];
    for (const template of [
      { nodeClassRef: CLASS_REF },
      { nodeClassRef: CLASS_REF, requirements },
    ]) {
      const name = "requirements" in template ? "empty" : "good";
      const pool = nodePool({ name, template });
      await world.api.create(NODE_POOL, { ...pool, status: { conditions } });
    }
    await world.api.create(POD, pod({ name: "waiting", cpu: "12" }));
    const batcher = createBatcher(world);
    const times = createPodTimes(world);
    const steering = { hasPlace: () => false };
    await world.run(
      ...[statePod(world), podTrigger(world, batcher, times)],
      provisioner(world, batcher, times, steering),
    );
    await world.clock.advance(5_000);
    await world.stop();
    const told = world.published.filter(({ reason }) => reason === "NoCompatibleInstanceTypes");
    expect(
      told.map(({ object, type, message }) => [object.kind, object.metadata.name, type, message]),
    ).toEqual([
      [
        "NodePool",
        "empty",
        "Warning",
        "NodePool requirements filtered out all compatible available instance types",
      ],
    ]);
    expect(told[0]?.dedupeMs).toBe(60_000);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(1);
  });
});

describe("a NodeClaim that the API server finds invalid", () => {
  /** Plans two pods of each size. The server refuses claims with `status` if their requests are not whole cpus. */
  async function refusing(
    sizes: readonly string[],
    { status = 422, limits = {} }: { status?: number; limits?: Record<string, string> } = {},
  ) {
    // The greedy rules put all pods on one node.
    const world = fakeWorld({ planner: GREEDY_PLANNER });
    await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
    const pool = nodePool({ spec: { limits }, template: { nodeClassRef: CLASS_REF } });
    const conditions = [{ type: "Ready", status: "True" as const }];
    await world.api.create(NODE_POOL, { ...pool, status: { conditions } });
    for (const cpu of sizes)
      for (const nth of [1, 2]) await world.api.create(POD, pod({ name: `${cpu}-${nth}`, cpu }));
    const sent: string[] = [];
    const create = world.kube.create;
    Object.assign(world.kube, {
      create: async (...call: Parameters<typeof create>) => {
        const claim = call[1] as NodeClaim;
        const cpu = claim.spec.resources?.requests?.["cpu"];
        if (call[0] === NODE_CLAIM) sent.push(String(cpu));
        if (call[0] !== NODE_CLAIM || !String(cpu).endsWith("m")) return create(...call);
        throw new KubeError(status, { message: "spec: Invalid value" }, "create nodeclaims");
      },
    });
    const batcher = createBatcher(world);
    const times = createPodTimes(world);
    const steering = { hasPlace: () => false };
    await world.run(
      ...[stateNode(world), stateNodeClaim(world), statePod(world)],
      podTrigger(world, batcher, times),
      provisioner(world, batcher, times, steering),
    );
    await world.clock.advance(5_000);
    const told = (reason: string) =>
      world.published.filter((one) => one.reason === reason).map((one) => one.object.metadata.name);
    return {
      world,
      sent,
      nominated: () => told("Nominated"),
      failed: () => told("FailedScheduling"),
    };
  }

  it("delays only the pods that make it invalid: its other pods get nodes in the same pass", async () => {
    const { world, sent, nominated, failed } = await refusing(["1", "1001m", "500m"]);
    expect(sent[0]).toBe("5002m");
    expect(sent.slice(1).toSorted()).toEqual(["1", "2", "2002m"]);
    expect(nominated().toSorted()).toEqual(["1-1", "1-2", "500m-1", "500m-2"]);
    expect(new Set(failed())).toEqual(new Set(["1001m-1", "1001m-2"]));
    const { message } =
      world.published.findLast(({ object }) => object.metadata.name === "1001m-1") ?? {};
    expect(message).toContain("spec: Invalid value");
    await world.stop();
  });

  it("is not split if all its pods are alike, or if the server answers 403 or 500", async () => {
    const alike = await refusing(["1001m"]);
    expect(alike.sent).toEqual(["2002m"]);
    await alike.world.stop();
    for (const status of [403, 500]) {
      const busy = await refusing(["1", "1001m"], { status });
      expect(busy.sent).toEqual(["4002m"]);
      await busy.world.stop();
    }
  });

  it("keeps the NodePool limit for the largest possible instances when its pods are split up", async () => {
    const { world } = await refusing(["1", "1001m", "2"], { limits: { cpu: "10" } });
    const largest = world.api.all(NODE_CLAIM).map((claim) => {
      const { requirements } = (claim as NodeClaim).spec;
      const types = requirements.find(({ key }) => key === "node.kubernetes.io/instance-type");
      return Math.max(...(types?.values ?? []).map((name) => Number.parseInt(name.slice(2), 10)));
    });
    expect(largest.length).toBeGreaterThan(1);
    expect(largest.reduce((sum, one) => sum + one)).toBeLessThanOrEqual(10);
    await world.stop();
  });
});
