// How many calls to the cloud the Drifted condition needs, and which API versions have the condition.
import { describe, expect, it } from "vitest";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { nodeClaimDisruption } from "./disruption.ts";

const nodeClassRef = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

async function worldOf(
  options: { betaDrift?: boolean; beta?: boolean } = {},
): Promise<{ world: FakeWorld; asked: () => number; drifted: () => string | undefined }> {
  const { betaDrift = true, beta = false } = options;
  const world = fakeWorld({ gates: { betaDrift } });
  let calls = 0;
  world.cloud.isDrifted = async () => {
    calls++;
    return "SubnetDrift";
  };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
  await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef } }));
  const annotations: Record<string, string> = beta
    ? { "compatibility.karpenter.sh/generation": "v1beta1" }
    : {};
  const claim: NodeClaim = {
    metadata: { name: "a", labels: { "karpenter.sh/nodepool": "default" }, annotations },
    spec: { requirements: [], nodeClassRef },
    status: { conditions: [{ type: "Launched", status: "True", reason: "Launched" }] },
  };
  await world.api.create(NODE_CLAIM, claim);
  await world.run(nodeClaimDisruption(world));
  return {
    world,
    asked: () => calls,
    drifted: () => condition(world.api.find(NODE_CLAIM, "a") as NodeClaim, "Drifted")?.reason,
  };
}

describe("the Drifted condition", () => {
  it("is read from the cloud again when the NodeClass changes, or after five minutes", async () => {
    const { world, asked, drifted } = await worldOf();
    await world.clock.advance(1_000);
    expect(drifted()).toBe("SubnetDrift");
    expect(asked()).toBe(1);
    world.api.change(NODE_CLAIM, "a", { metadata: { annotations: { some: "thing" } } });
    await world.clock.advance(1_000);
    expect(asked()).toBe(1);
    world.api.change(FAKE_NODE_CLASS, "default", { spec: { some: "thing" } });
    await world.clock.advance(1_000);
    expect(asked()).toBe(2);
    await world.clock.advance(301_000);
    expect(asked()).toBe(3);
    await world.stop();
  });

  it("is not InstanceTypeNotFound while the cloud, asked for the type by name, still sells it", async () => {
    const { world, drifted } = await worldOf();
    world.cloud.isDrifted = async () => undefined;
    world.cloud.isTypeGone = async () => false;
    world.cloud.instanceTypes = () => [];
    const creationTimestamp = "2020-01-01T00:00:00Z";
    world.api.change(NODE_CLAIM, "a", { metadata: { creationTimestamp } });
    await world.clock.advance(2 * 3_600_000);
    expect(drifted()).toBeUndefined();
    world.cloud.isTypeGone = async () => true;
    await world.clock.advance(400_000);
    expect(drifted()).toBe("InstanceTypeNotFound");
    await world.stop();
  });

  it("stays unchanged until the status of an edited NodeClass has its generation", async () => {
    const { world, drifted } = await worldOf();
    const ready = (observedGeneration: number) => ({
      status: { conditions: [{ type: "Ready", status: "True", observedGeneration }] },
    });
    await world.clock.advance(1_000);
    expect(drifted()).toBe("SubnetDrift");
    world.cloud.isDrifted = async () => "NodeClassDrift";
    world.api.change(FAKE_NODE_CLASS, "default", { spec: { some: "thing" }, ...ready(1) });
    await world.clock.advance(1_000);
    expect(drifted()).toBe("SubnetDrift");
    world.api.change(FAKE_NODE_CLASS, "default", ready(2));
    await world.clock.advance(1_000);
    expect(drifted()).toBe("NodeClassDrift");
    await world.stop();
  });

  it("S2-31: depends on the Drift feature gate for v1beta1 NodeClaims, and is always set for v1", async () => {
    const v1 = await worldOf({ betaDrift: false });
    await v1.world.clock.advance(1_000);
    expect(v1.drifted()).toBe("SubnetDrift");
    await v1.world.stop();
    const off = await worldOf({ betaDrift: false, beta: true });
    await off.world.clock.advance(1_000);
    expect(off.drifted()).toBeUndefined();
    await off.world.stop();
    const on = await worldOf({ beta: true });
    await on.world.clock.advance(1_000);
    expect(on.drifted()).toBe("SubnetDrift");
    await on.world.stop();
  });
});
