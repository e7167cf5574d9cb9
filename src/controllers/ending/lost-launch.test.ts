/** A process ends after a launch and before it writes the claim's status. Then the claim is deleted. */
import { describe, expect, it } from "vitest";
import { NAMESPACE } from "../../apis/core/kinds.ts";
import { NODE } from "../../apis/core/node.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { FAKE_NODE_CLASS, kubeSystem, ofCluster } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const UID = "this-cluster";
const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

function claim(name: string): NodeClaim {
  return {
    metadata: {
      name,
      labels: { "karpenter.sh/nodepool": "default", "karpenter.test.sh/testnodeclass": "default" },
    },
    spec: { requirements: [], nodeClassRef: CLASS_REF },
  } as unknown as NodeClaim;
}

/** When the instances join as Nodes: while the first process still runs, after it ended, or never. */
type Joins = "in time" | "later" | "never";

async function joinAll(world: FakeWorld): Promise<void> {
  for (const providerID of world.cloud.instances.keys())
    await world.join({
      ...claim(providerID.slice("fake:///".length)),
      status: { providerID },
    } as NodeClaim);
  await world.clock.advance(10_000);
}

/** Launches instances for these claims. The process ends before it writes the instances on the claims. */
async function launchedAndLost(
  names: readonly string[],
  { clusterUid = UID, joins = "never" }: { clusterUid?: string; joins?: Joins } = {},
): Promise<FakeWorld> {
  const first = fakeWorld();
  await first.api.create(FAKE_NODE_CLASS, {
    metadata: { name: "default" },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  } as never);
  await first.api.create(NAMESPACE, kubeSystem(UID));
  const { patch } = first.kube;
  Object.assign(first.kube, {
    patch: async (...call: Parameters<typeof patch>) => {
      const body = call[2].body as NodeClaim;
      if (body.status?.providerID !== undefined) throw new Error("the process ends");
      return patch(...call);
    },
  });
  await first.run(...allControllers(first));
  for (const name of names) await first.api.create(NODE_CLAIM, claim(name));
  await first.clock.settle();
  const { instances } = first.cloud;
  if (joins === "in time") await joinAll(first);
  await first.stop();
  for (const [id, one] of instances) instances.set(id, ofCluster(one, clusterUid));
  expect(instances.size).toBe(names.length);
  for (const one of first.api.all(NODE_CLAIM)) expect(one.status?.providerID).toBeUndefined();
  return first;
}

const left = ({ api, cloud }: FakeWorld) => ({
  claims: api.all(NODE_CLAIM).map(({ metadata }) => metadata.name),
  instances: [...cloud.instances.keys()],
  nodes: api.all(NODE).length,
});

describe("a NodeClaim deleted after the process that launched it ended, without its provider ID", () => {
  const eight = Array.from({ length: 8 }, (_, n) => `c${n}`);

  it.each(["in time", "later", "never"] as const)(
    "leaves no instance, no Node and no count for the brake (its Node joins %s)",
    async (joins) => {
      const first = await launchedAndLost(eight, { joins });
      const ours = first.api.all(NODE).filter(({ metadata }) => metadata.finalizers?.length === 1);
      expect(ours).toHaveLength(joins === "in time" ? 8 : 0);
      if (joins === "later") await joinAll(first);
      for (const name of eight) await first.api.delete(NODE_CLAIM, { name });
      const next = fakeWorld({}, first);
      const end = next.cloud.delete;
      const undrained: string[] = [];
      Object.assign(next.cloud, {
        delete: async (one: NodeClaim) => {
          const node = next.api.find(NODE, `node-${one.metadata.name}`);
          if (
            joins === "in time" &&
            node !== undefined &&
            node.metadata.deletionTimestamp === undefined
          )
            undrained.push(one.metadata.name);
          return end(one);
        },
      });
      await next.run(...allControllers(next));
      await next.clock.advance(60_000);
      expect(left(next)).toEqual({ claims: [], instances: [], nodes: 0 });
      expect(next.brake.counted(next.clock.elapsedMs())).toEqual([]);
      expect(undrained).toEqual([]);
      await next.stop();
    },
  );

  it("waits while another unlaunched NodeClaim of the NodePool may have the instance", async () => {
    const first = await launchedAndLost(["a", "b"]);
    await first.api.delete(NODE_CLAIM, { name: "a" });
    const next = fakeWorld({}, first);
    let answer = (): void => undefined;
    const { create } = next.cloud;
    const late = new Promise<void>((resolve) => {
      answer = resolve;
    });
    Object.assign(next.cloud, {
      create: async (one: NodeClaim) => {
        await late;
        return create(one);
      },
    });
    await next.run(...allControllers(next));
    await next.clock.advance(40_000);
    expect(left(next)).toMatchObject({ claims: ["a", "b"], instances: ["fake:///a", "fake:///b"] });
    answer();
    await next.clock.advance(60_000);
    expect(left(next)).toMatchObject({ claims: ["b"], instances: ["fake:///b"] });
    await next.stop();
  });

  it("does not end an instance of another cluster of the same name", async () => {
    const first = await launchedAndLost(["a"], { clusterUid: "another-cluster" });
    await first.api.delete(NODE_CLAIM, { name: "a" });
    const next = fakeWorld({}, first);
    await next.run(...allControllers(next));
    await next.clock.advance(60_000);
    expect(left(next)).toMatchObject({ claims: [], instances: ["fake:///a"] });
    await next.stop();
  });
});
