import { expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";
import { unmarkIfKept } from "./kept-claim.ts";

it.each(["stays", "is gone"])("unmarks a Node that stays if its NodeClaim %s", async (what) => {
  const world = fakeWorld();
  await world.run(...allControllers(world));
  const { group, kind } = FAKE_NODE_CLASS;
  await world.api.create(NODE_CLAIM, {
    metadata: { name: "a", labels: { "karpenter.test.sh/testnodeclass": "default" } },
    spec: { requirements: [], nodeClassRef: { group, kind, name: "default" } },
  });
  await world.clock.settle();
  const claim = world.api.find(NODE_CLAIM, "a") as NodeClaim;
  await world.join(claim);
  await world.clock.advance(5_000);
  const node = world.api.all(NODE)[0]?.metadata.name ?? "";
  const isMarked = () => world.cluster.nodes().some((one) => one.name === node && one.deleting);
  world.cluster.markForDeletion(node);
  if (what === "is gone") world.api.vanish(NODE_CLAIM, "a");
  unmarkIfKept(world, claim, [node]);
  await world.clock.advance(25_000);
  expect(isMarked()).toBe(true);
  await world.clock.advance(6_000);
  expect(isMarked()).toBe(false);
  await world.stop();
});
