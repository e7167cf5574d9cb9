import { afterEach, describe, expect, it } from "vitest";
import { POD, type Pod } from "../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../apis/karpenter/nodepool.ts";
import type { KubeObject } from "../apis/meta.ts";
import { FAKE_NODE_CLASS } from "../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../testing/fake-world.ts";
import { allControllers } from "./all.ts";

function pool(name: string, limits?: { cpu: string }): KubeObject {
  return {
    metadata: { name },
    spec: {
      template: {
        metadata: { labels: { team: name } },
        spec: {
          requirements: [],
          nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
        },
      },
      disruption: { consolidationPolicy: "WhenEmpty", consolidateAfter: "30s" },
      ...(limits === undefined ? {} : { limits }),
    },
  } as KubeObject;
}

function pod(name: string, team: string): Pod {
  return {
    metadata: {
      name,
      namespace: "default",
      uid: name,
      ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "r" }],
    },
    spec: {
      nodeSelector: { team },
      containers: [{ name: "c", resources: { requests: { cpu: "1" } } }],
    },
    status: {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
    },
  };
}

describe("a NodeClaim whose launch takes long", () => {
  let world: FakeWorld;
  let answer: () => void = () => undefined;
  afterEach(() => answer());

  /** Starts a world in which claims of the pool `slow` are not launched until `answer` is called. */
  async function open(limits?: { cpu: string }): Promise<void> {
    world = fakeWorld();
    const { create } = world.cloud;
    const waiting = new Promise<void>((resolve) => {
      answer = resolve;
    });
    world.cloud.create = async (claim: NodeClaim) => {
      if (claim.metadata.labels?.["team"] === "slow") await waiting;
      return create(claim);
    };
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
    await world.run(...allControllers(world));
    await world.api.create(NODE_POOL, pool("slow", limits) as never);
    await world.api.create(NODE_POOL, pool("quick") as never);
    await world.clock.advance(1_000);
    await world.api.create(POD, pod("a", "slow"));
    await world.clock.advance(5_000);
    await world.api.create(POD, pod("b", "quick"));
  }

  const claims = (): string[] =>
    world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.labels?.["team"] ?? "");

  it("delays other NodeClaims for seconds only, and its pods get no second NodeClaim", async () => {
    await open();
    await world.clock.advance(1_000);
    // As in upstream, planning waits this long, because most launches take less.
    expect(claims()).toEqual(["slow"]);
    await world.clock.advance(60_000);
    expect(claims().sort()).toEqual(["quick", "slow"]);
    answer();
    await world.clock.advance(30_000);
    expect(claims().sort()).toEqual(["quick", "slow"]);
  });

  it("delays other NodeClaims no longer if the clock is set back by an hour", async () => {
    await open();
    world.clock.setBack(3_600_000);
    await world.clock.advance(1_000);
    expect(claims()).toEqual(["slow"]);
    await world.clock.advance(15_000);
    expect(claims().sort()).toEqual(["quick", "slow"]);
  });

  it("delays other NodeClaims while a NodePool limit depends on its instance type", async () => {
    await open({ cpu: "100" });
    await world.clock.advance(60_000);
    expect(claims()).toEqual(["slow"]);
    answer();
    await world.clock.advance(15_000);
    expect(claims().sort()).toEqual(["quick", "slow"]);
  });

  it("has its pods planned again when it is deleted", async () => {
    await open();
    await world.clock.advance(20_000);
    const slow = world.api
      .all(NODE_CLAIM)
      .find(({ metadata }) => metadata.labels?.["team"] === "slow");
    world.api.vanish(NODE_CLAIM as never, slow?.metadata.name ?? "");
    await world.clock.advance(30_000);
    expect(claims().sort()).toEqual(["quick", "slow"]);
    expect(world.api.find(NODE_CLAIM, slow?.metadata.name ?? "")).toBe(undefined);
  });

  it("is named in the log as awaited, at once and every minute", async () => {
    await open({ cpu: "100" });
    const said = (text: string) => world.lines.filter((line) => line.includes(text));
    const [slow] = world.api.all(NODE_CLAIM);
    await world.clock.advance(5_000);
    expect(said("debug waiting for claims")).toHaveLength(1);
    expect(said("debug waiting for claims")[0]).toContain(slow?.metadata.name);
    await world.clock.advance(180_000);
    expect(said("info still waiting for claims")).toHaveLength(3);
    expect(said("info still waiting for claims")[2]).toMatch(/"waited":"3m/);
    answer();
    await world.clock.advance(120_000);
    expect(said("info still waiting for claims")).toHaveLength(3);
  });

  it("is awaited no longer if the API server does not have it, even without a DELETED event", async () => {
    await open();
    answer();
    await world.clock.advance(30_000);
    const [stored] = world.api.all(NODE_CLAIM);
    const metadata = { ...(stored as NodeClaim).metadata, name: "ghost", uid: "ghost" };
    world.cluster.updateClaim({ ...(stored as NodeClaim), metadata, status: {} });
    const before = claims().length;
    await world.api.create(POD, pod("c", "quick"));
    await world.api.create(POD, pod("d", "slow"));
    await world.clock.advance(90_000);
    expect(claims()).toHaveLength(before);
    await world.clock.advance(60_000);
    expect(world.cluster.synced).toBe(true);
    expect(claims().length).toBeGreaterThan(before);
  });
});
