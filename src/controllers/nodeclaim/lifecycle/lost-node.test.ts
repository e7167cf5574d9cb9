import { expect, it } from "vitest";
import { NODE } from "../../../apis/core/node.ts";
import { POD } from "../../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import { pod } from "../../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../../testing/fake-cloud.ts";
import { fakeWorld } from "../../../testing/fake-world.ts";
import { allControllers } from "../../all.ts";

it("ends no instance under its pods when its Node is deleted by force in the middle of a drain", async () => {
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
  world.api.vanish(NODE, name);
  await world.clock.advance(180_000);
  expect(world.cloud.instances.size).toBe(1);
  expect(world.published.map(({ message }) => message).join()).toContain(
    `This pod is on Node ${name}, which the API server does not have`,
  );
  world.api.vanish(POD, "default/p");
  await world.clock.advance(180_000);
  expect(world.cloud.instances.size).toBe(0);
  expect(world.api.all(NODE_CLAIM)).toEqual([]);
  await world.stop();
});
