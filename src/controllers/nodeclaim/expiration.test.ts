import { describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { nodeClaim, nodePool } from "../../testing/builders.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;

describe("expiration of a v1 NodeClaim", () => {
  it(`publishes "Disrupting: Expired" on the NodeClaim and its Node`, async () => {
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

describe("a NodeClaim with a max-run-duration label", () => {
  it("is deleted after that duration, even if a budget of 0 delays its expiry", async () => {
    const world = fakeWorld({ expiry: { spreadPercent: 0, respectsBudgets: true } });
    const ref = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
    const pool = nodePool({ template: { nodeClassRef: ref } });
    const disruption = { ...pool.spec.disruption, budgets: [{ nodes: "0" }] };
    await world.api.create(NODE_POOL, { ...pool, spec: { ...pool.spec, disruption } });
    await world.run(...allControllers(world));
    const {
      uid: _,
      creationTimestamp: __,
      ...metadata
    } = nodeClaim({
      name: "a",
      labels: {
        "karpenter.sh/max-run-duration": "20m",
        "karpenter.test.sh/testnodeclass": "default",
      },
    }).metadata;
    const spec = { expireAfter: "10m", requirements: [], nodeClassRef: ref };
    await world.api.create(NODE_CLAIM, { metadata, spec });
    await world.clock.settle();
    await world.join(world.api.find(NODE_CLAIM, "a") as NodeClaim);
    const claim = () => world.api.find(NODE_CLAIM, "a");
    await world.clock.advance(19 * MINUTE_MS);
    expect(claim()?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Expired", status: "True" }),
    );
    expect(claim()?.metadata.deletionTimestamp).toBeUndefined();
    await world.clock.advance(2 * MINUTE_MS);
    const told = world.published.filter(({ reason }) => reason === "DisruptionTerminating");
    expect(told.map(({ message }) => message)).toContain("Disrupting NodeClaim: Expired");
    await world.stop();
  });
});
