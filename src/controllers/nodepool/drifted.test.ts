import { afterEach, describe, expect, it } from "vitest";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { nodeClaim, nodePool } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { nodePoolDrifted } from "./drifted.ts";
import { nodePoolSettingNotices } from "./setting-notices.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

let world: FakeWorld;
afterEach(() => world.stop());

function claim(name: string, drift?: string): NodeClaim {
  const one = nodeClaim({ name, labels: { "karpenter.sh/nodepool": "default" } });
  const conditions =
    drift === undefined ? [] : [{ type: "Drifted", status: "True", reason: drift }];
  return { ...one, status: { ...one.status, conditions } } as NodeClaim;
}

const shown = () => condition(world.api.find(NODE_POOL, "default") as NodePool, "Drifted");

describe("the condition Drifted of a NodePool", () => {
  it("counts drifted nodes by reason, and is removed with the last one", async () => {
    world = fakeWorld();
    await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef: CLASS_REF } }));
    await world.run(nodePoolDrifted(world));
    await world.api.create(NODE_CLAIM, claim("a"));
    await world.clock.advance(1_000);
    expect(shown()).toBeUndefined();
    await world.api.create(NODE_CLAIM, claim("b", "NodePoolDrifted"));
    await world.api.create(NODE_CLAIM, claim("c", "AMIDrift"));
    await world.api.create(NODE_CLAIM, claim("d", "NodePoolDrifted"));
    await world.clock.advance(1_000);
    expect(shown()).toMatchObject({
      status: "True",
      reason: "NodesDrifted",
      message: "3 of 4 nodes have drifted: 2 NodePoolDrifted, 1 AMIDrift",
    });
    for (const name of ["b", "c", "d"]) await world.api.delete(NODE_CLAIM, { name });
    await world.clock.advance(1_000);
    expect(shown()).toBeUndefined();
  });
});

describe("limits.nodes: 0", () => {
  it("is reported by one event, and again after another limit was set meanwhile", async () => {
    world = fakeWorld();
    const template = { nodeClassRef: CLASS_REF };
    await world.api.create(NODE_POOL, nodePool({ spec: { limits: { nodes: "0" } }, template }));
    await world.run(nodePoolSettingNotices(world));
    const told = () => world.published.filter(({ reason }) => reason === "NodePoolOff").length;
    world.api.change(NODE_POOL, "default", { metadata: { labels: { a: "b" } } });
    await world.clock.advance(1_000);
    expect(told()).toBe(1);
    world.api.change(NODE_POOL, "default", { spec: { limits: { nodes: "5" } } });
    await world.clock.advance(1_000);
    world.api.change(NODE_POOL, "default", { spec: { limits: { nodes: "0" } } });
    await world.clock.advance(1_000);
    expect(told()).toBe(2);
  });
});

describe("an unknown value of karpenter.sh/return-to-preferred", () => {
  it("is reported by one event for each value", async () => {
    world = fakeWorld();
    const key = "karpenter.sh/return-to-preferred";
    const template = { nodeClassRef: CLASS_REF };
    const write = async (text: string) => {
      world.api.change(NODE_POOL, "default", { metadata: { annotations: { [key]: text } } });
      await world.clock.advance(1_000);
    };
    await world.api.create(NODE_POOL, nodePool({ template }));
    await world.run(nodePoolSettingNotices(world));
    const told = () =>
      world.published
        .filter(({ reason }) => reason === "AnnotationIgnored")
        .map(({ type, message }) => `${type} ${message.slice(key.length + 13)}`);
    await write("nodepool, capacity-type, dearer");
    expect(told()).toEqual([]);
    await write("nodepol");
    world.api.change(NODE_POOL, "default", { metadata: { labels: { a: "b" } } });
    await world.clock.advance(1_000);
    const first = `Warning "nodepol" has no effect (did you mean nodepool?): write nodepool, capacity-type, dearer, separated by commas`;
    expect(told()).toEqual([first]);
    await write("dearer");
    const second = 'Warning "dearer" alone has no effect: add nodepool, capacity-type or both';
    expect(told()).toEqual([first, second]);
  });
});
