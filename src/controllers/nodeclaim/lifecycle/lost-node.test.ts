import { expect, it } from "vitest";
import { NODE } from "../../../apis/core/node.ts";
import { POD } from "../../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { pod } from "../../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../../testing/fake-world.ts";
import { allControllers } from "../../all.ts";

/** A world whose NodeClaim is being deleted, while a budget keeps a pod on its Node. */
async function draining(): Promise<{ readonly world: FakeWorld; readonly name: string }> {
  const world = fakeWorld();
  await world.run(...allControllers(world));
  const { group, kind } = FAKE_NODE_CLASS;
  await world.api.create(NODE_CLAIM, {
    metadata: { name: "a", labels: { "karpenter.test.sh/testnodeclass": "default" } },
    spec: { requirements: [], nodeClassRef: { group, kind, name: "default" } },
  });
  await world.clock.settle();
  await world.join(world.api.find(NODE_CLAIM, "a") as NodeClaim);
  await world.clock.advance(5_000);
  const name = world.api.all(NODE)[0]?.metadata.name ?? "";
  const owner = { kind: "ReplicaSet", name: "r" };
  await world.api.create(POD, pod({ name: "p", nodeName: name, owner }));
  world.api.guarded.add("default/p");
  await world.api.delete(NODE_CLAIM, { name: "a" });
  await world.clock.advance(5_000);
  return { world, name };
}

it("ends no instance under its pods when its Node is deleted by force in the middle of a drain", async () => {
  const { world, name } = await draining();
  world.api.vanish(NODE, name);
  await world.clock.advance(180_000);
  expect(world.cloud.instances.size).toBe(1);
  expect(world.published.map(({ message }) => message).join()).toContain(
    `This pod is on Node ${name}, which the API server does not have`,
  );
  const told = world.lines.filter((line) => line.includes("not ended, there is a doubt"));
  expect(told.length).toBeLessThanOrEqual(4);
  world.api.vanish(POD, "default/p");
  await world.clock.advance(180_000);
  expect(world.cloud.instances.size).toBe(0);
  expect(world.api.all(NODE_CLAIM)).toEqual([]);
  await world.stop();
});

it("removes the NodeClaim of an instance that has ended, although a pod is left on its Node", async () => {
  const { world, name } = await draining();
  world.cloud.instances.clear();
  const conditions = [{ type: "Ready", status: "Unknown" }];
  world.api.change(NODE, name, { status: { conditions } } as never);
  await world.clock.advance(60_000);
  expect(world.api.all(NODE)).toEqual([]);
  expect(world.api.all(NODE_CLAIM)).toEqual([]);
  expect(world.published.filter(({ reason }) => reason === "EndHeld")).toEqual([]);
  await world.stop();
});
