import { describe, expect, it } from "vitest";
import { NODE_CLAIM } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { nodeClaim, nodePool } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { nodePoolHash } from "./hash.ts";

const HASH = "karpenter.sh/nodepool-hash";
const VERSION = "karpenter.sh/nodepool-hash-version";
const { group, kind } = FAKE_NODE_CLASS;
const nodeClassRef = { group, kind, name: "default" };
const drifted = [{ type: "Drifted", status: "True" as const, reason: "NodePoolDrifted" }];

/** The hashes on the claims after the pool's hash version changed. `meanwhile`: what happens before that. */
async function stamped(meanwhile: (world: FakeWorld) => unknown) {
  const world = fakeWorld();
  const old = { [HASH]: "old", [VERSION]: "v2" };
  const made = nodePool({ template: { nodeClassRef } });
  const metadata = { ...made.metadata, annotations: old };
  await world.api.create(NODE_POOL, { ...made, metadata });
  for (const name of ["a", "b", "c"])
    await world.api.create(NODE_CLAIM, nodeClaim({ name, nodeClassRef, annotations: old }));
  let isFirst = true;
  const kube: FakeWorld["kube"] = {
    ...world.kube,
    patch: async (...given) => {
      if (isFirst) await meanwhile(world);
      isFirst = false;
      await world.clock.sleep(1);
      return world.kube.patch(...given);
    },
  };
  await world.run(nodePoolHash({ ...world, kube }));
  await world.clock.advance(1_000);
  await world.stop();
  const annotations = world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.annotations ?? {});
  return annotations.map((one) => (one[HASH] === "old" ? `old ${one[VERSION]}` : one[VERSION]));
}

describe("NodeClaims with a hash of an older version", () => {
  it("get the current version, and the current hash unless they are Drifted", async () => {
    const [now] = await stamped(() => undefined);
    expect(now).toMatch(/^v\d+$/);
    expect(now).not.toBe("v2");
    expect(await stamped(() => undefined)).toEqual([now, now, now]);
    const drifts = ({ api }: FakeWorld) =>
      api.change(NODE_CLAIM, "b", { status: { conditions: drifted } });
    // A claim that had drifted under the old hash version counts as drifted with the new version, too.
    expect(await stamped(drifts)).toEqual([now, `old ${now}`, now]);
    const goes = ({ api }: FakeWorld) => api.vanish(NODE_CLAIM, "b");
    expect(await stamped(goes)).toEqual([now, now]);
  });
});
