import { describe, expect, it } from "vitest";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { nodeClaim } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { fakeWorld } from "../../testing/fake-world.ts";
import { instanceGarbageCollection } from "./garbage-collection.ts";

const MINUTE_MS = 60_000;

describe("an instance that no claim names", () => {
  /** Launched a minute ago; an older claim of that class is there, and names what is given. */
  async function isEnded(
    nodeClassRef: { group: string; kind: string; name: string },
    names?: string,
  ): Promise<boolean> {
    const world = fakeWorld();
    const nowMs = world.clock.now();
    const leaked = nodeClaim({
      name: "",
      metadata: { creationTimestamp: toRfc3339(nowMs - MINUTE_MS) },
      status: { providerID: "fake:///leaked" },
    });
    world.cloud.instances.set("fake:///leaked", leaked);
    const waiting = nodeClaim({
      name: "waiting",
      nodeClassRef,
      metadata: { creationTimestamp: toRfc3339(nowMs - 60 * MINUTE_MS) },
      status: names === undefined ? {} : { providerID: names },
    });
    await world.api.create(NODE_CLAIM, waiting);
    await world.run(instanceGarbageCollection(world));
    await world.clock.advance(MINUTE_MS);
    await world.stop();
    return world.cloud.instances.size === 0;
  }

  const ours = { group: FAKE_NODE_CLASS.group, kind: FAKE_NODE_CLASS.kind, name: "default" };
  const another = { group: "elsewhere.example", kind: "OtherNodeClass", name: "default" };

  it("is left to a claim that waits for one, unless that is another provider's", async () => {
    expect(await isEnded(ours)).toBe(false);
    expect(await isEnded(another)).toBe(true);
    expect(await isEnded(another, "fake:///leaked")).toBe(false);
  });
});
