/** The API server, or a proxy before it, answers a write and does not store it. */
import { describe, expect, it } from "vitest";
import { NODE } from "../apis/core/node.ts";
import { POD } from "../apis/core/pod.ts";
import { isTrue } from "../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import type { Kind } from "../apis/meta.ts";
import { pod } from "../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../testing/fake-world.ts";
import { allControllers } from "./all.ts";

const { group, kind } = FAKE_NODE_CLASS;

/** A world whose claim has a node with a pod. `lost.of`: the kind whose writes are lost from now on. */
async function joined(): Promise<{ readonly world: FakeWorld; readonly lost: { of?: Kind } }> {
  const world = fakeWorld();
  const lost: { of?: Kind } = {};
  const { patch } = world.kube;
  const losing = async (of: Kind, ref: { readonly name: string }, ...rest: readonly unknown[]) =>
    of.kind === lost.of?.kind ? world.kube.get(of, ref) : patch(of, ref, ...(rest as [never]));
  Object.assign(world.kube, { patch: losing });
  await world.run(...allControllers(world));
  const nodeClassRef = { group, kind, name: "default" };
  const labels = { "karpenter.test.sh/testnodeclass": "default" };
  const metadata = { name: "a", labels };
  await world.api.create(NODE_CLAIM, { metadata, spec: { requirements: [], nodeClassRef } });
  await world.clock.settle();
  return { world, lost };
}

const claimOf = (world: FakeWorld) => world.api.find(NODE_CLAIM, "a") as NodeClaim;

describe("a write that is answered and not stored", () => {
  it("is repeated until the NodeClaim has the condition, although no object changes", async () => {
    const { world, lost } = await joined();
    lost.of = NODE_CLAIM as Kind;
    await world.join(claimOf(world));
    await world.clock.advance(60_000);
    expect(isTrue(claimOf(world), "Initialized")).toBe(false);
    delete lost.of;
    await world.clock.advance(120_000);
    expect(isTrue(claimOf(world), "Initialized")).toBe(true);
    const told = world.lines.filter((line) => line.includes("registered nodeclaim"));
    expect(told).toHaveLength(1);
    await world.stop();
  });

  it("of a Node's registration keeps its NodeClaim from being Registered", async () => {
    const { world, lost } = await joined();
    lost.of = NODE as Kind;
    const taints = [{ key: "karpenter.sh/unregistered", effect: "NoExecute" }];
    await world.join(claimOf(world), { spec: { providerID: "fake:///a", taints } });
    await world.clock.advance(60_000);
    expect(isTrue(claimOf(world), "Registered")).toBe(false);
    delete lost.of;
    await world.clock.advance(120_000);
    expect(isTrue(claimOf(world), "Registered")).toBe(true);
    await world.stop();
  });

  it("is repeated until the finalizers of a Node and its NodeClaim are removed", async () => {
    const { world, lost } = await joined();
    await world.join(claimOf(world));
    await world.clock.advance(5_000);
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(2_000);
    lost.of = NODE as Kind;
    await world.clock.advance(60_000);
    lost.of = NODE_CLAIM as Kind;
    await world.clock.advance(120_000);
    expect(world.api.all(NODE)).toEqual([]);
    expect(world.api.all(NODE_CLAIM)).toHaveLength(1);
    delete lost.of;
    await world.clock.advance(120_000);
    expect(world.api.all(NODE_CLAIM)).toEqual([]);
    await world.stop();
  });

  it("of the cordon evicts no pod, which would be bound to the same node again", async () => {
    const { world, lost } = await joined();
    await world.join(claimOf(world));
    await world.clock.advance(5_000);
    const [node] = world.api.all(NODE);
    const owner = { kind: "ReplicaSet", name: "r" };
    await world.api.create(POD, pod({ name: "p", nodeName: node?.metadata.name ?? "", owner }));
    await world.clock.advance(1_000);
    lost.of = NODE as Kind;
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(180_000);
    expect(world.api.journal.join()).not.toContain("evict");
    expect(world.cloud.instances.size).toBe(1);
    expect(world.published.map(({ message }) => message)).toContain(
      "Failed to drain node, the API server does not store that it is cordoned",
    );
    delete lost.of;
    await world.clock.advance(120_000);
    expect(world.api.journal).toContain("evict default/p");
    expect(world.api.all(NODE_CLAIM)).toEqual([]);
    await world.stop();
  });
});
