/**
 * The clock of this process jumps by hours while nodes drain, repair waits or hold-offs last. The API server's clock
 * stays right.
 */
import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { establish, FAKE_CLASS_REF } from "../../testing/established.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";
import type { World } from "../world.ts";
import { keepBrakeCount, recallBrake } from "./brake-memory.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

type Gates = NonNullable<Parameters<typeof fakeWorld>[0]>["gates"];

/** A world whose controllers see a clock that is `jump.aheadMs` ahead. The API server's clock is right. */
async function jumping(
  gates: Gates = {},
  { grace, after = "Never" }: { readonly grace?: string; readonly after?: string } = {},
): Promise<{ world: FakeWorld; jump: { aheadMs: number } }> {
  const world = fakeWorld({ gates });
  const jump = { aheadMs: 0 };
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  await world.api.create(
    NODE_POOL,
    nodePool({
      spec: { disruption: { consolidateAfter: after, budgets: [{ nodes: "1" }] } },
      template: { nodeClassRef: FAKE_CLASS_REF },
    }),
  );
  await establish(world, "a", MINUTE_MS);
  if (grace !== undefined)
    world.api.change(NODE_CLAIM, "a", { spec: { terminationGracePeriod: grace } });
  await world.run(...allControllers(seenAhead(world, jump)));
  return { world, jump };
}

function seenAhead(world: FakeWorld, jump: { readonly aheadMs: number }): World {
  const { clock } = world;
  const ahead = {
    now: () => clock.now() + jump.aheadMs,
    elapsedMs: () => clock.elapsedMs(),
    turnMs: () => clock.turnMs(),
    after: clock.after.bind(clock),
    sleep: clock.sleep.bind(clock),
  };
  return { ...world, clock: ahead, clockSkewMs: () => jump.aheadMs };
}

const onNode = (name: string, options: Parameters<typeof pod>[0] = {}) =>
  pod({ name, nodeName: "a", owner: { kind: "ReplicaSet", name: "r" }, ...options });
const claimOf = ({ api }: FakeWorld) => api.find(NODE_CLAIM, "a") as NodeClaim;
const claimNames = ({ api }: FakeWorld) => api.all(NODE_CLAIM).map(({ metadata }) => metadata.name);
/** Changes the object, so that its controllers reconcile it. */
const touch = ({ api, clock }: FakeWorld) =>
  api.change(NODE_CLAIM, "a", { metadata: { annotations: { touched: `at ${clock.now()}` } } });
const podsLeft = ({ api }: FakeWorld) =>
  api
    .all(POD)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.name);

describe.each([5 * HOUR_MS, -5 * HOUR_MS])(
  "a drain during which the clock jumps by %d ms",
  (ms) => {
    it("keeps pods that may not be evicted until the NodeClaim's terminationGracePeriod is over", async () => {
      const { world, jump } = await jumping({}, { grace: "10m" });
      await world.api.create(POD, onNode("guarded"));
      world.api.guarded.add("default/guarded");
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(MINUTE_MS);
      jump.aheadMs = ms;
      await world.clock.advance(4 * MINUTE_MS);
      expect(podsLeft(world)).toEqual(["guarded"]);
      expect([...world.cloud.instances.keys()]).toContain("test://a");
      jump.aheadMs = 0;
      await world.clock.advance(3 * MINUTE_MS);
      expect(podsLeft(world)).toEqual(["guarded"]);
      await world.clock.advance(3 * MINUTE_MS);
      expect(podsLeft(world)).toEqual([]);
      await world.stop();
    });

    it("waits for a pod that ends within a long grace period of its own", async () => {
      const { world, jump } = await jumping();
      await world.api.create(POD, onNode("slow"));
      world.api.change(POD, "default/slow", { metadata: { finalizers: ["example.com/slow"] } });
      await world.api.delete(NODE_CLAIM, { name: "a" });
      const until = toRfc3339(world.clock.now() + HOUR_MS);
      await world.clock.advance(MINUTE_MS);
      world.api.change(POD, "default/slow", { metadata: { deletionTimestamp: until } });
      jump.aheadMs = ms;
      await world.clock.advance(3 * MINUTE_MS);
      expect([...world.cloud.instances.keys()]).toContain("test://a");
      await world.stop();
    });

    it("evicts no pod with do-not-disrupt: 4h", async () => {
      const { world, jump } = await jumping();
      const annotations = { "karpenter.sh/do-not-disrupt": "4h" };
      const startTime = toRfc3339(world.clock.now());
      await world.api.create(POD, {
        ...onNode("precious", { annotations }),
        status: { phase: "Running", startTime },
      });
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(MINUTE_MS);
      jump.aheadMs = ms;
      await world.clock.advance(3 * MINUTE_MS);
      expect(world.api.journal).not.toContain("evict default/precious");
      expect(podsLeft(world)).toEqual(["precious"]);
      await world.stop();
    });

    it("is not cut short by node repair when its Node is not Ready for a minute", async () => {
      const { world, jump } = await jumping({ nodeRepair: true, legacyNodeRepair: true });
      world.cloud.repairPolicies = [
        {
          conditionType: "Ready",
          conditionStatus: "Unknown",
          tolerationMs: 3 * HOUR_MS,
          priority: 0,
          action: "ReplaceNode",
        },
      ];
      await world.api.create(POD, onNode("guarded"));
      world.api.guarded.add("default/guarded");
      await world.api.delete(NODE_CLAIM, { name: "a" });
      const lastTransitionTime = toRfc3339(world.clock.now());
      jump.aheadMs = ms;
      world.api.change(NODE, "a", {
        status: { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime }] },
      });
      await world.clock.advance(3 * MINUTE_MS);
      expect(podsLeft(world)).toEqual(["guarded"]);
      expect(claimOf(world).metadata.annotations ?? {}).not.toHaveProperty([
        "karpenter.sh/nodeclaim-termination-timestamp",
      ]);
      await world.stop();
    });
  },
);

describe("an empty node before the end of consolidateAfter", () => {
  it.each([5 * HOUR_MS, -5 * HOUR_MS])(
    "is not consolidated because the clock jumps by %d ms, nor after that",
    async (ms) => {
      const { world, jump } = await jumping({}, { after: "20m" });
      await world.clock.advance(MINUTE_MS);
      jump.aheadMs = ms;
      touch(world);
      await world.clock.advance(2 * MINUTE_MS);
      await world.api.create(POD, onNode("last"));
      await world.api.delete(POD, { namespace: "default", name: "last" });
      await world.clock.advance(2 * MINUTE_MS);
      jump.aheadMs = 0;
      touch(world);
      await world.clock.advance(10 * MINUTE_MS);
      expect(claimNames(world)).toEqual(["a"]);
      expect(world.api.find(NODE, "a")?.spec?.taints ?? []).toEqual([]);
      await world.clock.advance(15 * MINUTE_MS);
      expect(claimNames(world)).not.toEqual(["a"]);
      await world.stop();
    },
  );
});

describe("the safety brake's count of terminations", () => {
  it.each([
    ["writes", 5 * HOUR_MS, 0],
    ["writes", -5 * HOUR_MS, 0],
    ["reads", 0, 5 * HOUR_MS],
    ["reads", 0, -5 * HOUR_MS],
  ])(
    "is read by the next process, even if the clock of the process that %s it is wrong by %d or %d ms",
    async (...[, writerMs, readerMs]) => {
      const { world } = await jumping();
      const writer = seenAhead(world, { aheadMs: writerMs });
      for (const name of ["a", "b", "c", "d", "e"])
        writer.brake.take(name, world.clock.elapsedMs(), 5);
      await keepBrakeCount(writer);
      await world.stop();
      const next = fakeWorld({}, world);
      await next.run();
      const reader = seenAhead(next, { aheadMs: readerMs });
      await recallBrake(reader);
      expect(next.brake.take("f", next.clock.elapsedMs(), 5)).toBe(false);
      await next.stop();
    },
  );
});
