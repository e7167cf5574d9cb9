import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { KWOK_NODE_CLASS } from "../../apis/kwok/kwoknodeclass.ts";
import type { Kind } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import {
  InsufficientCapacityError,
  NodeClaimNotFoundError,
  NodeClassNotReadyError,
} from "../../core/cloudprovider/errors.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { kwokInstanceTypes } from "./instance-types.ts";
import { kwokNodeClass } from "./node-class.ts";
import { createKwokProvider } from "./provider.ts";

type Requirement = NodeClaim["spec"]["requirements"][number];

const LINUX_AMD: readonly Requirement[] = [
  { key: "kubernetes.io/os", operator: "In", values: ["linux"] },
  { key: "kubernetes.io/arch", operator: "In", values: ["amd64"] },
];

function claim(name: string, requirements: readonly Requirement[]): NodeClaim {
  return {
    apiVersion: "karpenter.sh/v1",
    kind: "NodeClaim",
    metadata: { name, labels: { "karpenter.sh/nodepool": "default" } },
    spec: {
      requirements,
      taints: [{ key: "team", value: "red", effect: "NoSchedule" }],
      nodeClassRef: { group: "karpenter.kwok.sh", kind: "KWOKNodeClass", name: "default" },
    },
  };
}

/** Stores the claim on the API server as the lifecycle would after the launch. */
function stored(world: FakeWorld, one: NodeClaim, ...types: readonly string[]): Promise<unknown> {
  const lastTransitionTime = toRfc3339(world.clock.now());
  const conditions = types.map((type) => ({ type, status: "True" as const, lastTransitionTime }));
  const status = { ...one.status, conditions } as NodeClaim["status"] & object;
  return world.api.create(NODE_CLAIM, { ...one, status });
}

async function open(nodeRegistrationDelay?: string) {
  const world = fakeWorld();
  const provider = createKwokProvider(world);
  await world.run(kwokNodeClass(world));
  const spec = nodeRegistrationDelay === undefined ? {} : { nodeRegistrationDelay };
  await world.api.create(KWOK_NODE_CLASS, { metadata: { name: "default" }, spec });
  await world.clock.settle();
  return { world, provider, nodes: () => world.api.all(NODE) };
}

describe("an instance of the kwok provider", () => {
  it("has another boot ID after a reboot, the same one for a repeated request, and none after it ended", async () => {
    const { world, provider, nodes } = await open();
    const launched = await provider.create(claim("a", LINUX_AMD));
    await world.clock.settle();
    const [node] = nodes();
    expect(node?.status?.nodeInfo?.["bootID"]).toBe(`kwok-${node?.metadata.name}`);
    await provider.reboot(launched, "uid-1-one");
    expect(nodes()[0]?.status?.nodeInfo?.["bootID"]).toBe("kwok-uid-1-one");
    expect(nodes()[0]?.status?.capacity).toEqual(launched.status?.capacity);
    await provider.delete(launched);
    await world.clock.settle();
    await expect(provider.reboot(launched, "uid-1-two")).rejects.toThrow(NodeClaimNotFoundError);
  });
});

describe("the instance types of the kwok provider", () => {
  const types = kwokInstanceTypes();
  const named = (name: string) => types.find((type) => type.name === name);

  it("are upstream's 144, each in four zones on demand and as spot", () => {
    expect(types).toHaveLength(144);
    expect(new Set(types.map(({ name }) => name)).size).toBe(144);
    expect(types.every(({ offerings }) => offerings.length === 8)).toBe(true);
    expect(named("m-16x-arm64-windows")?.capacity).toEqual({
      cpu: 16_000,
      memory: 128 * 2 ** 30,
      pods: 256,
      "ephemeral-storage": 20 * 2 ** 30,
    });
    expect(named("c-256x-amd64-linux")?.capacity["pods"]).toBe(1_024);
  });

  it("cost $0.025 for each core and $0.001 for each gigabyte, as spot 70 % of that", () => {
    const prices = (name: string) =>
      Object.fromEntries(
        named(name)?.offerings.map((one) => [one.capacityType, one.priceMicroUsd]) ?? [],
      );
    // 2 GiB are 2.147483648 GB.
    expect(prices("c-1x-amd64-linux")).toEqual({ "on-demand": 27_147, spot: 19_003 });
    expect(prices("s-4x-arm64-linux")).toEqual({ "on-demand": 117_180, spot: 82_026 });
  });
});

describe("the kwok provider", () => {
  it("launches nothing if the class is not Ready, is being deleted or does not exist", async () => {
    const { world, provider, nodes } = await open();
    const message = "an operator is at work";
    const conditions = [{ type: "Ready", status: "False" as const, reason: "Paused", message }];
    world.api.change(KWOK_NODE_CLASS, "default", { status: { conditions } });
    await world.clock.settle();
    await expect(provider.create(claim("a", LINUX_AMD))).rejects.toThrow(
      new NodeClassNotReadyError(`KWOKNodeClass default is not ready: ${message}`),
    );
    expect(world.api.find(KWOK_NODE_CLASS, "default")).toMatchObject({ status: { conditions } });
    world.api.vanish(KWOK_NODE_CLASS as Kind, "default");
    await world.clock.settle();
    await expect(provider.create(claim("a", LINUX_AMD))).rejects.toThrow(InsufficientCapacityError);
    expect(nodes()).toEqual([]);
  });

  it("creates one Node for a claim, however often the claim is launched", async () => {
    const { world, provider, nodes } = await open();
    const wish = claim("a", LINUX_AMD);
    const first = await provider.create(wish);
    // A new process does not remember the choice and could choose another type. The existing Node decides.
    const narrower = { key: "karpenter.kwok.sh/instance-cpu", operator: "In", values: ["8"] };
    const other = claim("a", [...LINUX_AMD, narrower as Requirement]);
    const second = await createKwokProvider(world).create(other);
    expect(second.status).toEqual(first.status);
    expect(nodes()).toHaveLength(1);
  });

  it("creates the Node of the cheapest type and offering that the claim allows", async () => {
    const { world, provider, nodes } = await open();
    const created = await provider.create(
      claim("a", [
        ...LINUX_AMD,
        { key: "karpenter.kwok.sh/instance-cpu", operator: "Gt", values: ["3"] },
        { key: "topology.kubernetes.io/zone", operator: "In", values: ["test-zone-c"] },
        { key: "team", operator: "In", values: ["red"] },
      ]),
    );
    const [node] = nodes();
    expect(node?.metadata.labels).toMatchObject({
      "karpenter.sh/nodepool": "default",
      "node.kubernetes.io/instance-type": "c-4x-amd64-linux",
      "topology.kubernetes.io/zone": "test-zone-c",
      "karpenter.sh/capacity-type": "spot",
      "karpenter.kwok.sh/instance-memory": "8Gi",
      "kwok.x-k8s.io/node": "fake",
    });
    expect(node?.spec?.taints).toEqual([
      { key: "karpenter.sh/unregistered", effect: "NoExecute" },
      { key: "team", value: "red", effect: "NoSchedule" },
    ]);
    expect(node?.status?.allocatable?.["cpu"]).toBe("3900m");
    expect(created.status?.providerID).toBe(`kwok://${node?.metadata.name}`);
    expect(created.metadata.labels?.["topology.kubernetes.io/zone"]).toBe("test-zone-c");
    await world.stop();
  });

  it("reports no capacity for a claim that no type fits", async () => {
    const { world, provider, nodes } = await open();
    const giant: Requirement = {
      key: "karpenter.kwok.sh/instance-cpu",
      operator: "Gt",
      values: ["256"],
    };
    await expect(provider.create(claim("a", [giant]))).rejects.toThrow("no available offering");
    expect(nodes()).toEqual([]);
    await world.stop();
  });

  it("finds and lists instances, and does not find a deleted one", async () => {
    const { world, provider } = await open();
    const created = await provider.create(claim("a", LINUX_AMD));
    const id = created.status?.providerID as string;
    expect((await provider.get(id)).status?.nodeName).toBe(id.slice("kwok://".length));
    expect((await provider.list()).map(({ status }) => status?.providerID)).toEqual([id]);
    await provider.delete(created);
    await expect(provider.get(id)).rejects.toThrow(`instance ${id} not found`);
    await expect(provider.delete(created)).rejects.toThrow("not found");
    await expect(provider.get("aws:///us-west-2a/i-1")).rejects.toThrow("not found");
    expect(await provider.list()).toEqual([]);
    await world.stop();
  });

  it("creates the Node after nodeRegistrationDelay, and never if the claim is deleted before", async () => {
    const { world, provider, nodes } = await open("30s");
    const [first, second] = [
      await provider.create(claim("a", LINUX_AMD)),
      await provider.create(claim("b", LINUX_AMD)),
    ];
    expect((await provider.get(first?.status?.providerID as string)).status?.nodeName).toMatch(
      "a-",
    );
    await provider.delete(second as NodeClaim);
    await world.clock.advance(29_000);
    expect(nodes()).toEqual([]);
    await world.clock.advance(2_000);
    expect(nodes().map(({ spec }) => spec?.providerID)).toEqual([first?.status?.providerID]);
    await world.stop();
  });

  it("retries a Node that could not be created, until its claim is deleted", async () => {
    const { world, provider, nodes } = await open("30s");
    const create = world.api.create;
    let refusals = 0;
    Object.assign(world.kube, {
      create: async (...call: Parameters<typeof create>) => {
        if (refusals++ < 3) throw new Error("connection reset");
        return create(...call);
      },
    });
    const first = await provider.create(claim("a", LINUX_AMD));
    await world.clock.advance(31_000);
    expect(nodes()).toEqual([]);
    // The instance exists even while its Node is missing.
    expect((await provider.get(first.status?.providerID as string)).status?.nodeName).toMatch("a-");
    await world.clock.advance(15_000);
    expect(nodes().map(({ spec }) => spec?.providerID)).toEqual([first.status?.providerID]);
    expect(refusals).toBe(4);
    refusals = 0;
    const second = await provider.create(claim("b", LINUX_AMD));
    await world.clock.advance(31_000);
    await provider.delete(second);
    await world.clock.advance(60_000);
    expect(nodes()).toHaveLength(1);
    expect(refusals).toBe(1);
    await world.stop();
  });

  it("deletes a Node whose claim is deleted while the Node is being created", async () => {
    const { world, provider, nodes } = await open("30s");
    const create = world.api.create;
    Object.assign(world.kube, {
      create: async (...call: Parameters<typeof create>) => {
        await world.clock.sleep(1_000);
        return create(...call);
      },
    });
    const made = await provider.create(claim("a", LINUX_AMD));
    await world.clock.advance(30_500);
    await provider.delete(made);
    await world.clock.advance(5_000);
    expect(nodes()).toEqual([]);
    await world.stop();
  });

  it("reports a deleted instance as gone only when no Node of it can appear any more", async () => {
    const { world, provider, nodes } = await open("30s");
    const { create, delete: remove } = world.api;
    let refusals = 0;
    Object.assign(world.kube, {
      // The Node is stored, but the answer is lost.
      create: async (...call: Parameters<typeof create>) => {
        await world.clock.sleep(10_000);
        await create(...call);
        throw new Error("connection reset");
      },
      delete: async (...call: Parameters<typeof remove>) => {
        if (refusals++ < 2) throw new Error("connection reset");
        return remove(...call);
      },
    });
    const made = await provider.create(claim("a", LINUX_AMD));
    await world.clock.advance(31_000);
    await provider.delete(made);
    await world.clock.advance(1_000);
    // At this time the Node is being created.
    await provider.delete(made);
    expect(nodes()).toEqual([]);
    await world.clock.advance(10_000);
    expect(nodes()).toHaveLength(1);
    await provider.delete(made);
    await world.clock.advance(20_000);
    expect(nodes()).toEqual([]);
    await expect(provider.delete(made)).rejects.toThrow("not found");
    await world.stop();
  });

  it("returns the same instance if the claim is launched again while its Node is being created", async () => {
    const { world, provider, nodes } = await open("30s");
    const { create } = world.api;
    Object.assign(world.kube, {
      create: async (...call: Parameters<typeof create>) => {
        await world.clock.sleep(5_000);
        return create(...call);
      },
    });
    const wish = claim("a", LINUX_AMD);
    const first = await provider.create(wish);
    await world.clock.advance(31_000);
    const narrower = { key: "karpenter.kwok.sh/instance-cpu", operator: "In", values: ["8"] };
    const again = claim("a", [...LINUX_AMD, narrower as Requirement]);
    expect((await provider.create(again)).status).toEqual(first.status);
    await world.clock.advance(10_000);
    expect(nodes()).toHaveLength(1);
    await provider.delete(first);
    await world.clock.advance(60_000);
    expect(nodes()).toEqual([]);
    await world.stop();
  });

  it("creates nothing more after it is stopped", async () => {
    const { world, provider, nodes } = await open("30s");
    const { create } = world.api;
    let tries = 0;
    Object.assign(world.kube, {
      create: async (...call: Parameters<typeof create>) => {
        tries++;
        await world.clock.sleep(1_000);
        if (tries > 0) throw new Error("connection reset");
        return create(...call);
      },
    });
    await provider.create(claim("a", LINUX_AMD));
    await world.clock.advance(10_000);
    await provider.create(claim("b", LINUX_AMD));
    // At this time the first Node is being created, and the second one waits.
    await world.clock.advance(20_500);
    expect(tries).toBe(1);
    provider.stop();
    await world.clock.advance(120_000);
    expect([tries, nodes()]).toEqual([1, []]);
    await world.stop();
  });

  it("creates a waiting Node once after the controller restarted", async () => {
    const { world, provider, nodes } = await open("30s");
    const [first, lost] = [
      await provider.create(claim("a", LINUX_AMD)),
      await provider.create(claim("b", LINUX_AMD)),
    ];
    await stored(world, first as NodeClaim, "Launched");
    // A claim whose Node had joined and was deleted later.
    await stored(world, lost as NodeClaim, "Launched", "Registered");
    // The controller stops: its memory of booting nodes is lost, but the claims stay.
    for (const { status } of [first, lost]) await provider.delete({ status } as NodeClaim);
    const next = createKwokProvider(world);
    await world.clock.advance(10_000);
    expect(await next.list()).toEqual([]);
    await next.list();
    expect((await next.get(first?.status?.providerID as string)).status?.nodeName).toMatch("a-");
    await world.clock.advance(19_000);
    expect(nodes()).toEqual([]);
    await world.clock.advance(2_000);
    const [node] = nodes();
    expect(nodes()).toHaveLength(1);
    expect(node?.spec?.providerID).toBe(first?.status?.providerID);
    expect(node?.metadata.labels).toMatchObject({ ...first?.metadata.labels });
    await next.list();
    await world.clock.advance(60_000);
    expect(nodes()).toHaveLength(1);
    await world.stop();
  });

  it("does not create a Node again that was deleted before it registered", async () => {
    const { world, provider, nodes } = await open("30s");
    await world.api.create(KWOK_NODE_CLASS, { metadata: { name: "prompt" }, spec: {} });
    await world.clock.settle();
    const slow = await provider.create(claim("slow", LINUX_AMD));
    const wish = claim("quick", LINUX_AMD);
    const nodeClassRef = { ...wish.spec.nodeClassRef, name: "prompt" };
    const quick = await provider.create({ ...wish, spec: { ...wish.spec, nodeClassRef } });
    for (const one of [slow, quick]) await stored(world, one, "Launched");
    const left = () => nodes().map(({ metadata }) => metadata.name.split("-")[0]);
    expect(left()).toEqual(["quick"]);
    await world.api.delete(NODE, { name: nodes()[0]?.metadata.name ?? "" });
    await provider.list();
    await world.clock.advance(31_000);
    expect(left()).toEqual(["slow"]);
    await world.api.delete(NODE, { name: nodes()[0]?.metadata.name ?? "" });
    await world.clock.settle();
    await provider.list();
    await world.clock.advance(60_000);
    expect(left()).toEqual([]);
    // The next controller creates no Node, either, if the class creates Nodes at launch.
    world.api.vanish(NODE_CLAIM, "slow");
    await world.clock.settle();
    await createKwokProvider(world).list();
    await world.clock.advance(60_000);
    expect(left()).toEqual([]);
    await world.stop();
  });

  it("sets a KWOKNodeClass to Ready", async () => {
    const { world } = await open();
    const stored = world.api.find(KWOK_NODE_CLASS, "default");
    expect(stored?.status?.conditions).toMatchObject([{ type: "Ready", status: "True" }]);
    await world.stop();
  });
});
