/** An object that cannot be changed or deleted keeps no other object waiting. */
import { describe, expect, it } from "vitest";
import { DEPLOYMENT } from "../apis/apps/kinds.ts";
import { NAMESPACE } from "../apis/core/kinds.ts";
import { NODE } from "../apis/core/node.ts";
import { POD } from "../apis/core/pod.ts";
import { NODE_CLAIM, type NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../apis/karpenter/nodepool.ts";
import type { Kind } from "../apis/meta.ts";
import { toRfc3339 } from "../base/clock.ts";
import type { ObjectRef } from "../kube/client/client.ts";
import { KubeError } from "../kube/errors.ts";
import { node, nodeClaim, nodePool, pod } from "../testing/builders.ts";
import { FAKE_NODE_CLASS, kubeSystem, ofCluster } from "../testing/fake-cloud.ts";
import { defineNodeClaims, type FakeWorld, fakeWorld } from "../testing/fake-world.ts";
import { createEvictionQueue } from "./node/eviction-queue.ts";
import { termination } from "./node/termination.ts";
import {
  claimGarbageCollection,
  instanceGarbageCollection,
} from "./nodeclaim/garbage-collection.ts";
import { lifecycle } from "./nodeclaim/lifecycle/controller.ts";
import { nodePoolHash } from "./nodepool/hash.ts";
import { createRegistrationTracker } from "./registration-tracker.ts";

const MINUTE = 60_000;
const { group, kind } = FAKE_NODE_CLASS;
const nodeClassRef = { group, kind, name: "default" };

/** The world, whose API server refuses each change and deletion of the object of this name. */
function refusing(world: FakeWorld, name: string): FakeWorld {
  const { kube } = world;
  const refuse = (ref: ObjectRef): void => {
    if (ref.name === name) throw new KubeError(500, { message: "a webhook fails" }, "writing");
  };
  const patch = async (of: Kind, ref: ObjectRef, ...rest: readonly unknown[]) => {
    refuse(ref);
    return kube.patch(of, ref, ...(rest as [never]));
  };
  const remove = async (of: Kind, ref: ObjectRef, ...rest: readonly unknown[]) => {
    refuse(ref);
    return kube.delete(of, ref, ...(rest as [never]));
  };
  return { ...world, kube: { ...kube, patch, delete: remove } as FakeWorld["kube"] };
}

describe("one object that the API server refuses to change or delete", () => {
  it("does not keep other NodeClaims whose instance is gone", async () => {
    const world = fakeWorld();
    const conditions = [{ type: "Registered", status: "True" as const, reason: "Registered" }];
    for (const name of ["a", "b"])
      await world.api.create(
        NODE_CLAIM,
        nodeClaim({ name, nodeClassRef, status: { providerID: `fake:///${name}`, conditions } }),
      );
    await world.run(claimGarbageCollection(refusing(world, "a")));
    await world.clock.advance(MINUTE);
    await world.stop();
    expect(world.api.all(NODE_CLAIM).map(({ metadata }) => metadata.name)).toEqual(["a"]);
  });

  it("does not keep other NodeClaims of a NodePool from getting the current hash", async () => {
    const world = fakeWorld();
    const annotations = {
      "karpenter.sh/nodepool-hash": "old",
      "karpenter.sh/nodepool-hash-version": "v2",
    };
    const pool = nodePool({ template: { nodeClassRef } });
    await world.api.create(NODE_POOL, { ...pool, metadata: { ...pool.metadata, annotations } });
    for (const name of ["a", "b"])
      await world.api.create(NODE_CLAIM, nodeClaim({ name, nodeClassRef, annotations }));
    await world.run(nodePoolHash(refusing(world, "a")));
    await world.clock.advance(MINUTE);
    await world.stop();
    const hashes = world.api
      .all(NODE_CLAIM)
      .map(({ metadata }) => metadata.annotations?.["karpenter.sh/nodepool-hash"] === "old");
    expect(hashes).toEqual([true, false]);
  });

  it("does not keep the other Nodes of a deleted NodeClaim from being drained", async () => {
    const world = fakeWorld();
    await defineNodeClaims(world);
    const finalizers = ["karpenter.sh/termination"];
    const made = nodeClaim({ name: "c", nodeClassRef, status: { providerID: "fake:///c" } });
    await world.api.create(NODE_CLAIM, { ...made, metadata: { ...made.metadata, finalizers } });
    for (const name of ["a", "b"]) {
      const one = node({ name, providerId: "fake:///c", labels: made.metadata.labels ?? {} });
      await world.api.create(NODE, { ...one, metadata: { ...one.metadata, finalizers } });
    }
    world.cloud.instances.set("fake:///c", made);
    await world.run(lifecycle(refusing(world, "a"), createRegistrationTracker()));
    await world.api.delete(NODE_CLAIM, { name: "c" });
    await world.clock.advance(MINUTE);
    await world.stop();
    const leaving = world.api
      .all(NODE)
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(leaving.map(({ metadata }) => metadata.name)).toEqual(["b"]);
    expect([...world.cloud.instances.keys()]).toEqual(["fake:///c"]);
  });

  it("does not keep the other pods of a drained node, if it is the Deployment of a zero-downtime pod", async () => {
    const world = fakeWorld();
    await defineNodeClaims(world);
    const labels = { "karpenter.test.sh/testnodeclass": "default" };
    const one = node({ name: "node-a", labels, providerId: "fake://1" });
    const finalizers = ["karpenter.sh/termination"];
    await world.api.create(NODE, { ...one, metadata: { ...one.metadata, finalizers } });
    await world.api.create(DEPLOYMENT, {
      metadata: {
        ...{ name: "web", namespace: "default", generation: 1 },
        annotations: { "karpenter.sh/zero-downtime": "true" },
      },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: "web" } },
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [] } },
      },
      status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1 },
    } as never);
    const running = (name: string, app: string) =>
      pod({
        ...{ name, nodeName: "node-a", labels: { app, "pod-template-hash": "5f" } },
        owner: { kind: "ReplicaSet", name: `${app}-5f`, apiVersion: "apps/v1" },
        status: {
          phase: "Running",
          startTime: toRfc3339(world.clock.now()),
          conditions: [{ type: "Ready", status: "True" }],
        },
      });
    await world.api.create(POD, running("a-web", "web"));
    await world.api.create(POD, running("b-other", "other"));
    const seen = refusing(world, "web");
    const queue = createEvictionQueue(seen);
    await world.run(queue.controller, termination(seen, queue, { mayLeave: () => true }));
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(20_000);
    await world.stop();
    expect(world.api.journal.filter((line) => line.startsWith("evict"))).toEqual([
      "evict default/b-other",
    ]);
  });
});

it("one leaked instance that the cloud refuses to terminate does not keep the others", async () => {
  const world = fakeWorld();
  await world.api.create(NAMESPACE, kubeSystem("this-cluster"));
  const creationTimestamp = toRfc3339(world.clock.now() - MINUTE);
  for (const id of ["fake:///a", "fake:///b"])
    world.cloud.instances.set(
      id,
      ofCluster(
        nodeClaim({ name: "", metadata: { creationTimestamp }, status: { providerID: id } }),
        "this-cluster",
      ),
    );
  const end = world.cloud.delete;
  world.cloud.delete = async (claim: NodeClaim) => {
    if (claim.status?.providerID === "fake:///a") throw new Error("termination protection");
    return end(claim);
  };
  await world.run(instanceGarbageCollection(world));
  await world.clock.advance(3 * MINUTE);
  await world.stop();
  expect([...world.cloud.instances.keys()]).toEqual(["fake:///a"]);
});
