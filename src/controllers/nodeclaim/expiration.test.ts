import { describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;

describe("expiration of v1", () => {
  it("says on the claim and its node why they go", async () => {
    const world = fakeWorld();
    await world.run(...allControllers(world));
    await world.api.create(NODE_CLAIM, {
      metadata: { name: "a", labels: { "karpenter.test.sh/testnodeclass": "default" } },
      spec: {
        expireAfter: "10m",
        requirements: [],
        nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
      },
    });
    await world.clock.settle();
    await world.join(world.api.find(NODE_CLAIM, "a") as NodeClaim);
    await world.clock.advance(9 * MINUTE_MS);
    const told = () => world.published.filter(({ reason }) => reason === "DisruptionTerminating");
    expect(told()).toEqual([]);
    await world.clock.advance(2 * MINUTE_MS);
    expect(told().map(({ message }) => message)).toEqual([
      "Disrupting Node: Expired",
      "Disrupting NodeClaim: Expired",
    ]);
  });
});
