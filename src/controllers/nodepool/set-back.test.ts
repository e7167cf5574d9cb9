import { describe, expect, it } from "vitest";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import type { Mirrors, SetBack } from "../../kube/mirror/mirror.ts";
import { nodePool } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { nodePoolSetBack } from "./set-back.ts";

const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

/** A world with a NodePool, whose mirrors say what `setBack` holds. */
async function withPool() {
  const world = fakeWorld();
  let setBack: readonly SetBack[] = [];
  let tell = (): void => undefined;
  Object.assign(world.mirrors, {
    setBack: () => setBack,
    onSetBack: (listener: () => void) => {
      tell = listener;
      return () => undefined;
    },
  } satisfies Pick<Mirrors, "setBack" | "onSetBack">);
  await world.api.create(NODE_POOL, nodePool({ template: { nodeClassRef: CLASS_REF } }));
  await world.run(nodePoolSetBack(world));
  const become = (next: readonly SetBack[]) => {
    setBack = next;
    tell();
  };
  return { world, become };
}

const stored = (world: FakeWorld) => world.api.find(NODE_POOL, "default") as NodePool;
const shown = (world: FakeWorld) => condition(stored(world), "VersionsSetBack");

describe("the condition VersionsSetBack of a NodePool", () => {
  it("says after two minutes that versions went back and what to do, pauses disruption, and goes", async () => {
    const { world, become } = await withPool();
    await world.clock.advance(1_000);
    become([{ kind: "Node", sinceMs: world.clock.elapsedMs() }]);
    await world.clock.advance(119_000);
    expect(shown(world)).toBeUndefined();
    await world.clock.advance(2_000);
    const message = expect.stringMatching(/restore of etcd.*rollout restart.*Kinds: Node\./);
    expect(shown(world)).toMatchObject({ status: "True", reason: "OlderVersions", message });
    expect(pauseOf(stored(world), false)).toMatchObject({ kind: "paused", message });
    become([]);
    await world.clock.advance(1_000);
    expect(shown(world)).toBeUndefined();
    expect(pauseOf(stored(world), false)).toBeUndefined();
    await world.stop();
  });

  it("is not shown while one server lags behind others for a moment", async () => {
    const { world, become } = await withPool();
    become([{ kind: "Pod", sinceMs: world.clock.elapsedMs() }]);
    await world.clock.advance(60_000);
    become([]);
    await world.clock.advance(300_000);
    expect(shown(world)).toBeUndefined();
    await world.stop();
  });
});
