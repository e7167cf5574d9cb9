/**
 * An instance that was launched for a claim after the claim had timed out: when it is terminated, and when it is not.
 */
import { describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { KubeError } from "../../kube/errors.ts";
import { nodeClaim } from "../../testing/builders.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { endLateLaunch } from "./end-instance.ts";

const FINALIZERS = ["karpenter.sh/termination"];

/** Launches an instance for a claim with these finalizers. Undefined: the claim does not exist. */
async function launched(finalizers?: readonly string[]): Promise<[FakeWorld, NodeClaim]> {
  const world = fakeWorld();
  const wanted = nodeClaim({ name: "a" });
  const metadata = { ...wanted.metadata, uid: "uid-a", finalizers: finalizers ?? [] };
  const stored =
    finalizers === undefined
      ? { ...wanted, metadata }
      : await world.api.create(NODE_CLAIM, { ...wanted, metadata });
  await world.run();
  const { status } = await world.cloud.create(stored);
  return [world, { ...stored, status: status ?? {} }];
}

/** Number of instances after an attempt to terminate the late one. */
async function leftOf(world: FakeWorld, claim: NodeClaim): Promise<number> {
  await endLateLaunch(world, claim);
  await world.stop();
  return world.cloud.instances.size;
}

describe("an instance that came too late for its claim", () => {
  it("is ended if its NodeClaim is gone, or has only finalizers of others", async () => {
    expect(await leftOf(...(await launched()))).toBe(0);
    expect(await leftOf(...(await launched(["example.com/held"])))).toBe(0);
  });

  it("is ended if another NodeClaim has the name of its own", async () => {
    const [world, claim] = await launched(FINALIZERS);
    const metadata = { ...claim.metadata, uid: "uid-before" };
    expect(await leftOf(world, { ...claim, metadata })).toBe(0);
  });

  it("stays while its NodeClaim has our finalizer", async () => {
    expect(await leftOf(...(await launched(FINALIZERS)))).toBe(1);
  });

  it("stays if a Node has joined with its provider ID", async () => {
    const [world, claim] = await launched();
    await world.join(claim);
    await world.clock.settle();
    expect(await leftOf(world, claim)).toBe(1);
  });

  it("stays if the API server fails", async () => {
    const [world, claim] = await launched();
    const get = async () => {
      throw new KubeError(503, undefined, "away");
    };
    Object.assign(world.kube, { get });
    expect(await leftOf(world, claim)).toBe(1);
  });
});
