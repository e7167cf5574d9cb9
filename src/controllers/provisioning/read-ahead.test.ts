import { describe, expect, it } from "vitest";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { statePod } from "../state/pods.ts";
import { createBatcher } from "./batcher.ts";
import { createPodTimes } from "./pod-times.ts";
import { provisioner } from "./provisioner.ts";
import { podTrigger } from "./triggers.ts";

/**
 * When the instance types were read from the cloud, in milliseconds from the start. The first `failures` reads fail.
 */
async function asked(failures: number) {
  const world = fakeWorld();
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
  const classRef = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };
  const pool = nodePool({ template: { nodeClassRef: classRef } });
  const conditions = [{ type: "Ready", status: "True" as const }];
  await world.api.create(NODE_POOL, { ...pool, status: { conditions } });
  await world.api.create(POD, pod({ name: "waiting" }));
  const startMs = world.clock.elapsedMs();
  const times: number[] = [];
  const ask = world.cloud.getInstanceTypes;
  world.cloud.getInstanceTypes = async (of) => {
    times.push(world.clock.elapsedMs() - startMs);
    if (times.length <= failures) throw new Error("the cloud is away");
    return ask(of);
  };
  const batcher = createBatcher(world);
  const podTimes = createPodTimes(world);
  await world.run(
    ...[statePod(world), podTrigger(world, batcher, podTimes)],
    provisioner(world, batcher, podTimes, { hasPlace: () => false }),
  );
  await world.clock.advance(400);
  await world.api.create(POD, pod({ name: "second" }));
  await world.clock.advance(3_000);
  await world.stop();
  return { times, nodes: world.api.all(NODE_CLAIM).length };
}

describe("instance types of NodePools", () => {
  it("are listed once when a batch opens, and once when it is planned", async () => {
    expect(await asked(0)).toEqual({ times: [0, 1_400], nodes: 1 });
  });

  it("are listed for the plan also if the listing before failed", async () => {
    expect(await asked(1)).toEqual({ times: [0, 1_400], nodes: 1 });
  });
});
