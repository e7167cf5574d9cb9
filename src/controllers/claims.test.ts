// Which claims are reconciled after a change of a pool or node class, and at what cost. Also tests changes of claims by
// other writers.
import { describe, expect, it } from "vitest";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../apis/karpenter/nodepool.ts";
import { AWAIT_CHANGE } from "../kube/manager/controller.ts";
import { nodeClaim, nodePool } from "../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../testing/fake-cloud.ts";
import { fakeWorld } from "../testing/fake-world.ts";
import { changeClaim, classSourcesForClaims, poolSourcesForClaims } from "./claims.ts";
import { nodeClaimDisruption } from "./nodeclaim/disruption.ts";

const { group, kind } = FAKE_NODE_CLASS;
const nodeClassRef = { group, kind, name: "default" };

async function woken() {
  const world = fakeWorld();
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" } });
  for (const name of ["default", "other"])
    await world.api.create(NODE_POOL, nodePool({ name, template: { nodeClassRef } }));
  for (const [name, pool] of [
    ["a", "default"],
    ["b", "other"],
    ["c", "default"],
  ] as const)
    await world.api.create(NODE_CLAIM, nodeClaim({ name, pool, nodeClassRef }));
  const asked: string[] = [];
  await world.run({
    name: "woken",
    watches: [...poolSourcesForClaims(world), ...classSourcesForClaims(world)],
    concurrency: 1,
    reconcile: async ({ name }) => {
      asked.push(name);
      return AWAIT_CHANGE;
    },
  });
  const wokenBy = async (act: () => unknown): Promise<readonly string[]> => {
    asked.length = 0;
    act();
    await world.clock.settle();
    return asked.toSorted();
  };
  return {
    world,
    wokenBy,
    change: (patch: unknown) => world.api.change(NODE_POOL, "default", patch),
  };
}

describe("NodeClaims are reconciled again", () => {
  it("when the spec of their NodePool changes, not when only its status changes", async () => {
    const { world, wokenBy, change } = await woken();
    const template = { metadata: { labels: { team: "x" } } };
    expect(await wokenBy(() => change({ status: { nodes: 3, resources: { cpu: "9" } } }))).toEqual(
      [],
    );
    expect(await wokenBy(() => change({ spec: { template } }))).toEqual(["a", "c"]);
    const later = { disruption: { consolidateAfter: "1h" } };
    expect(await wokenBy(() => change({ spec: later }))).toEqual(["a", "c"]);
    const both = () => {
      change({ spec: { disruption: { consolidateAfter: "2h" } } });
      change({ status: { nodes: 4 } });
    };
    expect(await wokenBy(both)).toEqual(["a", "c"]);
    expect(await wokenBy(() => world.api.vanish(NODE_POOL, "other"))).toEqual(["b"]);
    await world.stop();
  });

  it("when their NodeClass changes", async () => {
    const { world, wokenBy } = await woken();
    const edit = () => world.api.change(FAKE_NODE_CLASS, "default", { spec: { some: "thing" } });
    expect(await wokenBy(edit)).toEqual(["a", "b", "c"]);
    await world.stop();
  });
});

describe("the disruption conditions of a v1beta1 NodeClaim", () => {
  it("are kept without a loop over all nodes", async () => {
    const world = fakeWorld();
    const annotations = { "compatibility.karpenter.sh/generation": "v1beta1" };
    const disruption = { consolidationPolicy: "WhenEmpty" as const, consolidateAfter: "30s" };
    await world.api.create(
      NODE_POOL,
      nodePool({ template: { nodeClassRef }, spec: { disruption } }),
    );
    const conditions = [{ type: "Initialized", status: "True" as const, reason: "Initialized" }];
    const status = { providerID: "fake:///a", conditions };
    await world.api.create(NODE_CLAIM, nodeClaim({ name: "a", nodeClassRef, annotations, status }));
    let looks = 0;
    const cluster = {
      nodeOfInstance: world.cluster.nodeOfInstance.bind(world.cluster),
      nodes: () => {
        looks++;
        return world.cluster.nodes();
      },
    };
    await world.run(nodeClaimDisruption({ ...world, cluster: cluster as typeof world.cluster }));
    await world.clock.advance(60_000);
    expect(looks).toBe(0);
    await world.stop();
  });
});

describe("a change of a NodeClaim", () => {
  it("is not written to another NodeClaim that was created with its name meanwhile", async () => {
    const { api, kube } = fakeWorld();
    const before = await api.create(NODE_CLAIM, nodeClaim({ name: "a", nodeClassRef }));
    api.vanish(NODE_CLAIM, "a");
    const other = nodeClaim({ name: "a", nodeClassRef });
    const metadata = { ...other.metadata, uid: "another" };
    await api.create(NODE_CLAIM, { ...other, metadata });
    const finalizers = ["example.com/hold"];
    const change = (claim: NodeClaim): NodeClaim => ({
      ...claim,
      metadata: { ...claim.metadata, finalizers },
    });
    expect(await changeClaim({ kube }, before, change)).toBeUndefined();
    expect(api.find(NODE_CLAIM, "a")?.metadata.finalizers).toBeUndefined();
  });
});
