import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { node, nodeClaim } from "../../testing/builders.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { stateNodeClaim } from "./nodeclaims.ts";
import { stateNode } from "./nodes.ts";

describe("a NodeClaim of another provider's NodeClass", () => {
  it("is not awaited, and its Node counts as unmanaged capacity", async () => {
    const world = fakeWorld();
    const nodeClassRef = { group: "elsewhere.example", kind: "OtherNodeClass", name: "default" };
    await world.api.create(NODE_CLAIM, nodeClaim({ name: "coming", nodeClassRef, status: {} }));
    const status = { providerID: "other:///a", nodeName: "a" };
    await world.api.create(NODE_CLAIM, nodeClaim({ name: "a", nodeClassRef, status }));
    const labels = { "karpenter.sh/nodepool": "theirs" };
    await world.api.create(NODE, node({ name: "a", labels, providerId: "other:///a" }));
    await world.run(stateNodeClaim(world), stateNode(world));
    expect(world.cluster.synced).toBe(true);
    const [only, ...others] = world.cluster.nodes();
    expect(others).toEqual([]);
    expect(only).toMatchObject({ name: "a", managed: false, poolId: undefined });
    expect(only?.available["cpu"]).toBeGreaterThan(0);
    await world.stop();
  });
});
