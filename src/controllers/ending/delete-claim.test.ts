import { describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { KubeError } from "../../kube/errors.ts";
import type { Mirrors } from "../../kube/mirror/mirror.ts";
import { nodeClaim } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { deleteClaim } from "./delete-claim.ts";

/** A world with filled mirrors and one claim. */
async function withClaim(): Promise<{ world: FakeWorld; claim: NodeClaim }> {
  const world = fakeWorld();
  const claim = await world.api.create(NODE_CLAIM, nodeClaim({ name: "a" }));
  await world.run();
  return { world, claim };
}

const isThere = (world: FakeWorld) => world.api.find(NODE_CLAIM, "a") !== undefined;

describe("deleting a NodeClaim", () => {
  it("is done by UID, and says whether this call began it", async () => {
    const { world, claim } = await withClaim();
    const another = { ...claim, metadata: { ...claim.metadata, uid: "another" } };
    expect(await deleteClaim(world, another, "disrupted")).toBe("gone");
    expect(isThere(world)).toBe(true);
    expect(await deleteClaim(world, claim, "disrupted")).toBe("ended");
    expect(await deleteClaim(world, claim, "disrupted")).toBe("gone");
    await world.stop();
  });

  it("does not happen if the reason no longer holds for the NodeClaim read live", async () => {
    const { world, claim } = await withClaim();
    const stillHolds = (live: NodeClaim) => live.metadata.labels?.["x"] === "old";
    expect(await deleteClaim(world, claim, "replacementUnused", { stillHolds })).toBe("changed");
    expect(isThere(world)).toBe(true);
    expect(world.published).toEqual([]);
    await world.stop();
  });

  it("rejects, and deletes nothing, if the live read fails", async () => {
    const { world, claim } = await withClaim();
    const unserved = new KubeError(404, { code: 404, reason: "NotFound" }, "getting");
    const kube = { ...world.kube, get: () => Promise.reject(unserved) };
    await expect(deleteClaim({ ...world, kube }, claim, "disrupted")).rejects.toThrow(unserved);
    expect(isThere(world)).toBe(true);
    await world.stop();
  });

  it("is held while a view that it needs is not current, with an EndHeld event", async () => {
    const { world, claim } = await withClaim();
    const views = { nodes: "current", pods: "behind", nodeclaims: "current" } as const;
    const mirrors: Mirrors = {
      of: (kind, options) => world.mirrors.of(kind, options),
      viewOf: ({ plural }) => views[plural as keyof typeof views] ?? "current",
      doubt: () => undefined,
      setBack: () => [],
      onSetBack: () => () => undefined,
    };
    expect(await deleteClaim({ ...world, mirrors }, claim, "disrupted")).toBe("held");
    expect(isThere(world)).toBe(true);
    expect(world.published.map(({ reason, message }) => [reason, message])).toEqual([
      [
        "EndHeld",
        "The NodeClaim is not ended although a disruption command replaces or removes its node. The view of pods is not current.",
      ],
    ]);
    // A deletion that does not depend on pods is not postponed.
    expect(await deleteClaim({ ...world, mirrors }, claim, "launchFailed")).toBe("ended");
    await world.stop();
  });

  it("is held by clocks that disagree and by the brake", async () => {
    const { world, claim } = await withClaim();
    const late = { ...world, clockSkewMs: () => 3_600_000 };
    expect(await deleteClaim(late, claim, "expired")).toBe("held");
    expect(world.published.at(-1)?.message).toContain(
      "clock and the API server's are 1h0m0s apart",
    );
    for (let n = 0; n < 5; n++) world.brake.take(`n${n}`, world.clock.elapsedMs(), 1);
    expect(await deleteClaim(world, claim, "unhealthy")).toBe("held");
    expect(world.brake.held).toEqual(["a"]);
    expect(await deleteClaim(world, claim, "instanceGone", { isProvenGone: true })).toBe("ended");
    await world.stop();
  });
});
