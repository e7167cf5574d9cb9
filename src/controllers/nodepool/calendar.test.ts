import { describe, expect, it } from "vitest";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { PROVISIONER } from "../../apis/karpenter/provisioner.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodePool } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { nodePoolCalendar } from "./calendar.ts";
import { nodePoolReadiness } from "./readiness.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
const HOUR_MS = 60 * 60_000;

const standing = (world: FakeWorld) =>
  condition(world.api.find(NODE_POOL, "default") as NodePool, "DisruptionAllowed");

describe("the condition DisruptionAllowed of a NodePool", () => {
  it("is False during a budget window that allows nothing, and says when the next disruption is allowed", async () => {
    const world = fakeWorld();
    const opens = new Date(world.clock.now() + HOUR_MS);
    const schedule = `${opens.getUTCMinutes()} ${opens.getUTCHours()} * * *`;
    const budgets = [{ nodes: "10%" }, { nodes: "0", schedule, duration: "2h" }];
    const disruption = {
      consolidationPolicy: "WhenEmpty" as const,
      consolidateAfter: "0s",
      budgets,
    };
    const pool = nodePool({ spec: { disruption }, template: { nodeClassRef: CLASS_REF } });
    await world.api.create(NODE_POOL, pool);
    await world.run(nodePoolCalendar(world));
    await world.clock.advance(1_000);
    expect(standing(world)).toBeUndefined();
    await world.clock.advance(HOUR_MS);
    const hitMs = Math.floor(opens.getTime() / 60_000) * 60_000;
    expect(standing(world)).toMatchObject({
      status: "False",
      reason: "Budgets",
      message: `next allowed disruption: ${toRfc3339(hitMs + 2 * HOUR_MS)}`,
    });
    await world.clock.advance(2 * HOUR_MS);
    expect(standing(world)).toBeUndefined();
    await world.stop();
  });

  it("says that nodes may expire if budgets block only the other reasons", async () => {
    const world = fakeWorld({ expiry: { spreadPercent: 0, respectsBudgets: true } });
    const reasons = ["Empty" as const, "Drifted" as const, "Underutilized" as const];
    const disruption = {
      consolidationPolicy: "WhenEmpty" as const,
      consolidateAfter: "0s",
      budgets: [{ nodes: "0", reasons }],
    };
    const pool = nodePool({ spec: { disruption }, template: { nodeClassRef: CLASS_REF } });
    await world.api.create(NODE_POOL, pool);
    await world.run(nodePoolCalendar(world));
    await world.clock.advance(1_000);
    const message = expect.stringMatching(
      /^Empty: budgets allow no disruption.*; Expired: allowed now$/,
    );
    expect(standing(world)).toMatchObject({ status: "True", message });
    await world.stop();
  });

  it.each([
    ["which may expire", 3_600, "True"],
    ["whose nodes never expire", undefined, "False"],
  ])("has the cluster's budgets for a Provisioner %s", async (_, seconds, status) => {
    const reasons = ["Empty" as const, "Drifted" as const, "Underutilized" as const];
    const world = fakeWorld({ clusterBudgets: [{ nodes: "0", reasons }] });
    await world.api.create(PROVISIONER, {
      apiVersion: "karpenter.sh/v1alpha5",
      kind: "Provisioner",
      metadata: { name: "old" },
      spec: {
        providerRef: { name: "default" },
        ...(seconds === undefined ? {} : { ttlSecondsUntilExpired: seconds }),
      },
    });
    await world.run(nodePoolCalendar(world));
    await world.clock.advance(1_000);
    const { conditions } = world.api.find(PROVISIONER, "old")?.status ?? {};
    expect(conditions?.find(({ type }) => type === "DisruptionAllowed")).toMatchObject({ status });
    await world.stop();
  });

  it("is set on a Provisioner beside Active, its only other condition", async () => {
    const world = fakeWorld();
    const annotations = { "karpenter.sh/disruption-paused": "true" };
    await world.api.create(PROVISIONER, {
      apiVersion: "karpenter.sh/v1alpha5",
      kind: "Provisioner",
      metadata: { name: "old", annotations },
      spec: { providerRef: { name: "default" } },
    });
    const conditions = () =>
      world.api
        .find(PROVISIONER, "old")
        ?.status?.conditions?.map(({ type, reason }) => [type, reason]);
    await world.run(nodePoolCalendar(world));
    await world.run(nodePoolReadiness(world));
    await world.clock.advance(1_000);
    expect(new Map(conditions() as [string, string][])).toEqual(
      new Map([
        ["Active", undefined],
        ["DisruptionAllowed", "Paused"],
      ]),
    );
    world.api.change(PROVISIONER, "old", {
      metadata: { annotations: { "karpenter.sh/disruption-paused": null } },
    });
    await world.clock.advance(1_000);
    expect(conditions()).toEqual([["Active", undefined]]);
    await world.stop();
  });

  it("is False with reason Paused while disruption is paused in the whole cluster", async () => {
    const world = fakeWorld({ pauseDisruption: true });
    await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef: CLASS_REF } }));
    await world.run(nodePoolCalendar(world));
    await world.clock.advance(1_000);
    expect(standing(world)).toMatchObject({ status: "False", reason: "Paused" });
    await world.stop();
  });
});
