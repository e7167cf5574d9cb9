import { afterEach, describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { KubeError } from "../../kube/errors.ts";
import { node, nodePool, pod } from "../../testing/builders.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";

const COST = "controller.kubernetes.io/pod-deletion-cost";
const CLASS_REF = { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" };

let world: FakeWorld;
afterEach(() => world.stop());

/** Creates a node `a`, an hour old, with pods `web` and `own` of ReplicaSets. A user set a deletion cost on `own`. */
async function begin(podDeletionCost: boolean): Promise<void> {
  world = fakeWorld({ gates: { podDeletionCost } });
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  const disruption = { consolidateAfter: "0s", budgets: [{ nodes: "100%" }] };
  await world.api.create(
    NODE_POOL,
    nodePool({ spec: { disruption }, template: { nodeClassRef: CLASS_REF } }),
  );
  await establish("a");
  await world.api.create(POD, running("web", {}));
  await world.api.create(POD, running("own", { [COST]: "7" }));
}

async function establish(name: string): Promise<void> {
  const at = toRfc3339(world.clock.now() - 3_600_000);
  const conditions = ["Launched", "Registered", "Initialized", "Ready"].map((type) => ({
    ...{ type, status: "True" as const, reason: type, lastTransitionTime: at },
  }));
  const labels = {
    "karpenter.sh/nodepool": "default",
    "karpenter.test.sh/testnodeclass": "default",
    "node.kubernetes.io/instance-type": "c-4x",
    "karpenter.sh/capacity-type": "on-demand",
  };
  const finalizers = ["karpenter.sh/termination"];
  const providerID = `test://${name}`;
  const claim: NodeClaim = {
    metadata: { name, labels, creationTimestamp: at, finalizers },
    spec: { requirements: [], nodeClassRef: CLASS_REF, expireAfter: "720h" },
    status: { providerID, nodeName: name, conditions },
  };
  world.cloud.instances.set(providerID, await world.api.create(NODE_CLAIM, claim));
  const joined = node({
    name,
    providerId: providerID,
    labels: { ...labels, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true" },
  });
  await world.api.create(NODE, { ...joined, metadata: { ...joined.metadata, finalizers } });
}

function running(name: string, annotations: Readonly<Record<string, string>>): Pod {
  const one = pod({ name, annotations, requests: { cpu: "3" } });
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: name, controller: true };
  return {
    ...one,
    metadata: { ...one.metadata, uid: `uid-${name}`, ownerReferences: [owner] },
    spec: { ...one.spec, nodeName: "a" },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
  };
}

const costOf = (name: string): string | undefined =>
  (world.api.find(POD, `default/${name}`) as Pod | undefined)?.metadata.annotations?.[COST];

const written = (result: string): number =>
  world.measured.get(`pod_deletion_cost_pod_annotation_writes_total{result=${result}}`) ?? 0;

describe("the deletion costs of pods", () => {
  it("are written once with the feature gate on, and do not overwrite a user's", async () => {
    await begin(true);
    await world.run(...allControllers(world));
    await world.clock.advance(61_000);
    expect([costOf("web"), costOf("own")]).toEqual(["-1", "7"]);
    expect(written("updated")).toBe(1);
    const pending = "pod_deletion_cost_nodes_with_pending_annotation_writes{nodepool=default}";
    expect(world.shown().get(pending) ?? 0).toBe(0);
    await world.clock.advance(600_000);
    expect(written("updated")).toBe(1);
  });

  it("are not written with the feature gate off", async () => {
    await begin(false);
    await world.run(...allControllers(world));
    await world.clock.advance(61_000);
    expect([costOf("web"), costOf("own")]).toEqual([undefined, "7"]);
  });

  it("are written again later after a write conflict", async () => {
    await begin(true);
    const { patch } = world.kube;
    let refused = 0;
    const once = (async (...asked: Parameters<typeof patch>) => {
      if (asked[0].kind === "Pod" && refused++ === 0)
        throw new KubeError(409, { reason: "Conflict", message: "changed" }, "patching");
      return patch.apply(world.kube, asked);
    }) as typeof patch;
    await world.run(...allControllers({ ...world, kube: { ...world.kube, patch: once } }));
    await world.clock.advance(30_000);
    expect([refused, costOf("web"), written("skipped_conflict")]).toEqual([1, undefined, 1]);
    await world.api.create(POD, running("another", {}));
    await world.clock.advance(120_000);
    expect(costOf("web")).toBe("-1");
  });
});
