// Which changes of pods restart the time `consolidateAfter`.
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { node, nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { podEvents } from "./podevents.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
const WEB = "default/web";

/**
 * Creates a node with the pod `web`. The returned function `happens` changes the pod and returns whether the claim was
 * written.
 */
async function withOnePod(status: NodeClaim["status"] = {}) {
  const world = fakeWorld();
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
  await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef: CLASS_REF } }));
  const labels = { "karpenter.sh/nodepool": "default" };
  const claim: NodeClaim = {
    metadata: { name: "a", labels },
    spec: { requirements: [], nodeClassRef: CLASS_REF },
    status: { providerID: "test://a", nodeName: "a", ...status },
  };
  await world.api.create(NODE_CLAIM, claim);
  await world.api.create(NODE, node({ name: "a", labels }));
  await world.api.create(POD, pod({ name: "web", nodeName: "a" }));
  await world.run(podEvents(world));
  const lastMs = () =>
    fromRfc3339((world.api.find(NODE_CLAIM, "a") as NodeClaim).status?.lastPodEventTime);
  const happens = async (change: () => unknown): Promise<boolean> => {
    const before = lastMs();
    await change();
    await world.clock.advance(100);
    return lastMs() !== before;
  };
  return { world, happens };
}

describe("lastPodEventTime of a NodeClaim", () => {
  it("is when a pod got its deletionTimestamp, not when it is removed", async () => {
    const { world, happens } = await withOnePod();
    await world.clock.advance(60_000);
    const leaving = { deletionTimestamp: "2026-01-05T12:00:00Z", finalizers: ["a/b"] };
    expect(await happens(() => world.api.change(POD, WEB, { metadata: leaving }))).toBe(true);
    await world.clock.advance(60_000);
    expect(await happens(() => world.api.vanish(POD, WEB))).toBe(false);
    await world.stop();
  });

  it("is when a Job's pod succeeded, not when it is removed hours later", async () => {
    const { world, happens } = await withOnePod();
    await world.clock.advance(60_000);
    const status = { phase: "Succeeded" as const };
    expect(await happens(() => world.api.change(POD, WEB, { status }))).toBe(true);
    await world.clock.advance(7_200_000);
    expect(await happens(() => world.api.vanish(POD, WEB))).toBe(false);
    await world.stop();
  });

  it("is written at most every ten seconds", async () => {
    const { world, happens } = await withOnePod();
    await world.clock.advance(60_000);
    const become = (phase: string) => () => world.api.change(POD, WEB, { status: { phase } });
    expect(await happens(become("Succeeded"))).toBe(true);
    await world.clock.advance(5_000);
    expect(await happens(become("Running"))).toBe(false);
    expect(await happens(become("Failed"))).toBe(false);
    await world.clock.advance(5_000);
    expect(await happens(become("Running"))).toBe(false);
    expect(await happens(become("Failed"))).toBe(true);
    await world.stop();
  });

  it("overwrites a time in the future", async () => {
    const { world, happens } = await withOnePod({ lastPodEventTime: "2027-01-05T08:00:00Z" });
    await world.clock.advance(60_000);
    const become = (phase: string) => () => world.api.change(POD, WEB, { status: { phase } });
    expect(await happens(become("Succeeded"))).toBe(true);
    await world.clock.advance(5_000);
    expect(await happens(become("Running"))).toBe(false);
    expect(await happens(become("Failed"))).toBe(false);
    await world.stop();
  });
});
