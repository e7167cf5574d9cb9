import { describe, expect, it } from "vitest";
import { NODE } from "../../apis/core/node.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { VOLUME_ATTACHMENT } from "../../apis/storage/kinds.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { KubeError } from "../../kube/errors.ts";
import { node, nodeClaim, pod } from "../../testing/builders.ts";
import { defineNodeClaims, type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { allControllers } from "../all.ts";
import { createEvictionQueue } from "./eviction-queue.ts";
import { termination } from "./termination.ts";

/** A world with a claim whose node has joined. */
async function joined(grace?: string): Promise<FakeWorld> {
  const world = fakeWorld();
  await world.run(...allControllers(world));
  await world.api.create(NODE_CLAIM, {
    metadata: { name: "a", labels: { "karpenter.test.sh/testnodeclass": "default" } },
    spec: {
      requirements: [],
      nodeClassRef: { group: "karpenter.test.sh", kind: "TestNodeClass", name: "default" },
      ...(grace === undefined ? {} : { terminationGracePeriod: grace }),
    },
  });
  await world.clock.settle();
  await world.join(world.api.find(NODE_CLAIM, "a") as NodeClaim);
  await world.clock.settle();
  return world;
}

const onNode = (name: string, options: Parameters<typeof pod>[0] = {}) =>
  pod({ name, nodeName: "node-a", owner: { kind: "ReplicaSet", name: "r" }, ...options });
const podsLeft = (world: FakeWorld) => world.api.all(POD).map(({ metadata }) => metadata.name);

describe("the termination of a Node", () => {
  it("deletes pods that may not be evicted in time before the NodeClaim's terminationGracePeriod ends", async () => {
    const world = await joined("2m");
    const spec = { terminationGracePeriodSeconds: 30 };
    const annotations = { "karpenter.sh/do-not-disrupt": "true" };
    await world.api.create(POD, onNode("guarded", { spec }));
    await world.api.create(POD, onNode("precious", { spec, annotations }));
    world.api.guarded.add("default/guarded");
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(85_000);
    expect(podsLeft(world)).toEqual(["guarded", "precious"]);
    expect(world.api.journal).not.toContain("evict default/precious");
    await world.clock.advance(10_000);
    expect(podsLeft(world)).toEqual([]);
    const told = world.published.find(({ reason }) => reason === "Disrupted");
    expect(told?.message).toContain("of its 30 terminationGracePeriodSeconds");
    await world.clock.advance(30_000);
    expect(world.api.all(NODE)).toEqual([]);
    expect(world.api.all(NODE_CLAIM)).toEqual([]);
    await world.stop();
  });

  it("retries an eviction that a PodDisruptionBudget blocks after 0.1 s, doubling up to every 10 s", async () => {
    const world = await joined();
    await world.api.create(POD, onNode("guarded"));
    await world.api.create(POD, onNode("other"));
    world.api.guarded.add("default/guarded");
    const { evict } = world.kube;
    const askedMs: number[] = [];
    const noted: typeof evict = (pod, options) => {
      if (pod.name === "guarded") askedMs.push(world.clock.now());
      return evict(pod, options);
    };
    Object.assign(world.kube, { evict: noted });
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(35_000);
    const waits = askedMs.slice(1).map((atMs, index) => atMs - (askedMs[index] as number));
    const doubling = [100, 200, 400, 800, 1_600, 3_200, 6_400];
    expect(waits).toEqual([...doubling, 10_000, 10_000]);
    expect(podsLeft(world)).toEqual(["guarded"]);
    world.api.guarded.clear();
    await world.clock.advance(10_000);
    expect(podsLeft(world)).toEqual([]);
    await world.stop();
  });

  it("evicts a pod again every 10 s if its eviction is accepted and it stays, with an event", async () => {
    const world = await joined();
    await world.api.create(POD, onNode("kept"));
    const { evict } = world.kube;
    const askedMs: number[] = [];
    const accept: typeof evict = async () => {
      askedMs.push(world.clock.now());
    };
    Object.assign(world.kube, { evict: accept });
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(35_000);
    const waits = askedMs.slice(1).map((atMs, index) => atMs - (askedMs[index] as number));
    expect(waits).toEqual([10_000, 10_000, 10_000]);
    expect(world.published.filter(({ reason }) => reason === "Evicted")).toHaveLength(1);
    const drained = [...world.measured].filter(([name]) => name.startsWith("pods_drained_total"));
    expect(drained.map(([, count]) => count)).toEqual([1]);
    expect(world.published.map(({ message }) => message)).toContain(
      'Failed to drain node, evicting pod "default/kept" is accepted and does not delete it, look at the webhooks for pods/eviction',
    );
    expect([podsLeft(world), world.cloud.instances.size]).toEqual([["kept"], 1]);
    Object.assign(world.kube, { evict });
    await world.clock.advance(20_000);
    expect([podsLeft(world), world.cloud.instances.size]).toEqual([[], 0]);
    await world.stop();
  });

  it("deletes a pod whose kubelet does not respond once, and counts it as drained once", async () => {
    const world = await joined("1m");
    await world.api.create(POD, onNode("stuck", { spec: { terminationGracePeriodSeconds: 90 } }));
    const remove = world.kube.delete;
    let asked = 0;
    // Behaves like an API server: a second deletion can shorten the grace period but not extend it.
    const shorten: typeof remove = async (kind, ref, options) => {
      if (kind.kind !== "Pod") return remove(kind, ref, options);
      asked++;
      const { metadata } = world.api.find(POD, "default/stuck") as Pod;
      const grace = options?.gracePeriodSeconds ?? 0;
      if (grace >= (metadata.deletionGracePeriodSeconds ?? Number.POSITIVE_INFINITY)) return;
      const deletionTimestamp = toRfc3339(world.clock.now() + grace * 1_000);
      const finalizers = ["test/kubelet"];
      const going = { deletionTimestamp, deletionGracePeriodSeconds: grace, finalizers };
      world.api.change(POD, "default/stuck", { metadata: going });
    };
    Object.assign(world.kube, { delete: shorten });
    const deadline = {
      "karpenter.sh/nodeclaim-termination-timestamp": toRfc3339(world.clock.now()),
    };
    world.api.change(NODE_CLAIM, "a", { metadata: { annotations: deadline } });
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(30_000);
    expect(world.api.all(NODE)).toHaveLength(1);
    const drained = [...world.measured].filter(([name]) => name.startsWith("pods_drained_total"));
    expect([asked, drained.map(([, count]) => count)]).toEqual([1, [1]]);
    await world.clock.advance(60_000);
    expect(world.api.all(NODE)).toEqual([]);
    await world.stop();
  });

  it("does not evict a pod before its turn, unless the cloud takes the instance back", async () => {
    const world = fakeWorld();
    const labels = { "karpenter.test.sh/testnodeclass": "default" };
    const claim = nodeClaim({ name: "a" });
    const finalizers = ["karpenter.sh/termination"];
    await world.api.create(NODE_CLAIM, { ...claim, metadata: { ...claim.metadata, finalizers } });
    const owned = node({ name: "node-a", labels, providerId: claim.status?.providerID ?? "" });
    await world.api.create(NODE, { ...owned, metadata: { ...owned.metadata, finalizers } });
    await world.api.create(POD, onNode("app"));
    const queue = createEvictionQueue(world);
    await world.run(queue.controller, termination(world, queue, { mayLeave: () => false }));
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(20_000);
    expect(world.api.journal).not.toContain("evict default/app");
    world.cloud.isTakenBack = ({ metadata }) => metadata.name === "a";
    await world.clock.advance(1_500);
    expect(world.api.journal).toContain("evict default/app");
    await world.stop();
  });

  it("deletes a drained Node after its few seconds, even if the clock is set back by an hour", async () => {
    const world = await joined();
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(2_000);
    expect(world.api.all(NODE)).toHaveLength(1);
    world.clock.setBack(3_600_000);
    // Any change of the Node causes a reconcile.
    await world.clock.advance(1_000);
    world.api.change(NODE, "node-a", { metadata: { labels: { seen: "anew" } } });
    await world.clock.advance(30_000);
    expect(world.api.all(NODE)).toEqual([]);
    await world.stop();
  });

  it("keeps a drained Node for its few seconds, even if the clock is set back by four seconds", async () => {
    const world = await joined();
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(2_000);
    world.clock.setBack(4_000);
    world.api.change(NODE, "node-a", { metadata: { labels: { seen: "anew" } } });
    await world.clock.advance(2_000);
    expect(world.api.all(NODE)).toHaveLength(1);
    await world.clock.advance(12_000);
    expect(world.api.all(NODE)).toEqual([]);
    await world.stop();
  });

  it("waits until VolumeAttachments are gone before it ends the instance", async () => {
    const world = await joined();
    await world.api.create(VOLUME_ATTACHMENT, {
      metadata: { name: "va" },
      spec: { attacher: "ebs", nodeName: "node-a", source: { persistentVolumeName: "pv" } },
    });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(20_000);
    expect(world.cloud.instances.size).toBe(1);
    const claim = world.api.find(NODE_CLAIM, "a") as NodeClaim;
    expect(condition(claim, "VolumesDetached")).toMatchObject({
      status: "Unknown",
      reason: "AwaitingVolumeDetachment",
    });
    world.api.vanish(VOLUME_ATTACHMENT, "va");
    await world.clock.advance(20_000);
    expect(world.cloud.instances.size).toBe(0);
    expect(world.api.all(NODE)).toEqual([]);
    await world.stop();
  });

  it("publishes FailedTermination on Node and NodeClaim if ending the instance fails, and retries", async () => {
    const world = await joined();
    const end = world.cloud.delete.bind(world.cloud);
    world.cloud.delete = () => Promise.reject(new Error("terminating is not authorized"));
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(60_000);
    const told = world.published.filter(({ reason }) => reason === "FailedTermination");
    expect(new Set(told.map(({ object }) => object.kind))).toEqual(new Set(["Node", "NodeClaim"]));
    expect(told[0]?.message).toBe("Failed to terminate instance, terminating is not authorized");
    expect(world.cloud.instances.size).toBe(1);
    expect(world.api.all(NODE)).toHaveLength(1);
    world.cloud.delete = end;
    await world.clock.advance(120_000);
    expect(world.cloud.instances.size).toBe(0);
    expect(world.api.all(NODE)).toEqual([]);
    await world.stop();
  });

  it("writes Drained, VolumesDetached and InstanceTerminating in one status patch", async () => {
    const world = await joined();
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(4_000);
    const { patch } = world.kube;
    const told: string[][] = [];
    const listen: typeof patch = (kind, ref, change, subresource) => {
      const { status } = change.body as { status?: NodeClaim["status"] };
      if (subresource === "status") told.push((status?.conditions ?? []).map(({ type }) => type));
      return patch(kind, ref, change, subresource);
    };
    Object.assign(world.kube, { patch: listen });
    await world.clock.advance(2_000);
    const ends = ["Drained", "VolumesDetached", "InstanceTerminating"];
    expect(told).toEqual([expect.arrayContaining(ends)]);
    await world.stop();
  });

  it("counts a Node as drained once, even if the first status patch fails", async () => {
    const world = await joined();
    await world.api.delete(NODE_CLAIM, { name: "a" });
    await world.clock.advance(4_000);
    const { patch } = world.kube;
    let refused = 0;
    const refuseOnce: typeof patch = (kind, ref, change, subresource) => {
      if (subresource !== "status" || refused > 0) return patch(kind, ref, change, subresource);
      refused++;
      return Promise.reject(new KubeError(503, undefined, "writing"));
    };
    Object.assign(world.kube, { patch: refuseOnce });
    await world.clock.advance(20_000);
    expect(refused).toBe(1);
    expect(world.api.all(NODE)).toEqual([]);
    const drained = [...world.measured].filter(([name]) => name.startsWith("nodes_drained_total"));
    expect(drained.map(([, count]) => count)).toEqual([1]);
    await world.stop();
  });

  describe("with a pod that the informer lacks", () => {
    /**
     * Makes the server list these pods, which the watch has not delivered. While `guard.isUp`, no pod may be evicted.
     */
    function withUnseen(world: FakeWorld, unseen: Pod[], guard = { isUp: true }): void {
      const { list, evict } = world.kube;
      const evictThem: typeof evict = async (ref, options) => {
        const at = unseen.findIndex(({ metadata }) => metadata.name === ref.name);
        if (at < 0) return evict(ref, options);
        if (guard.isUp) throw new KubeError(429, undefined, "evicting");
        unseen.splice(at, 1);
      };
      Object.assign(world.kube, { evict: evictThem });
      const seen: typeof list = async (kind, options) => {
        const { items, resourceVersion } = await list(kind, options);
        const all =
          options?.fieldSelector === "spec.nodeName=node-a" ? [...items, ...unseen] : items;
        return { items: all as typeof items, resourceVersion };
      };
      Object.assign(world.kube, { list: seen });
    }
    const later = onNode("later");

    it("evicts that pod as soon as its PodDisruptionBudget allows it", async () => {
      const world = await joined();
      const unseen = [later];
      const guard = { isUp: true };
      withUnseen(world, unseen, guard);
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(60_000);
      expect(world.cloud.instances.size).toBe(1);
      const told = world.published.filter(({ reason }) => reason === "FailedDraining");
      expect(told.map(({ message }) => message).join()).toContain("violates a PDB");
      guard.isUp = false;
      await world.clock.advance(20_000);
      expect(unseen).toEqual([]);
      expect(world.published.map(({ reason }) => reason)).toContain("Evicted");
      expect(world.cloud.instances.size).toBe(0);
      await world.stop();
    });

    it("evicts that pod only in its turn", async () => {
      const world = fakeWorld();
      await defineNodeClaims(world);
      const labels = { "karpenter.test.sh/testnodeclass": "default" };
      const finalizers = ["karpenter.sh/termination"];
      const owned = node({ name: "node-a", labels, providerId: "fake://1" });
      await world.api.create(NODE, { ...owned, metadata: { ...owned.metadata, finalizers } });
      const unseen = [later];
      withUnseen(world, unseen, { isUp: false });
      const queue = createEvictionQueue(world);
      let isItsTurn = false;
      const steering = { mayLeave: () => isItsTurn };
      await world.run(queue.controller, termination(world, queue, steering));
      await world.api.delete(NODE, { name: "node-a" });
      await world.clock.advance(20_000);
      expect(unseen).toEqual([later]);
      isItsTurn = true;
      await world.clock.advance(20_000);
      expect(unseen).toEqual([]);
      await world.stop();
    });

    it("keeps the instance, and evicts that pod once the informer has it", async () => {
      const world = await joined();
      const unseen = [later];
      withUnseen(world, unseen);
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(60_000);
      expect(world.cloud.instances.size).toBe(1);
      expect(condition(world.api.find(NODE_CLAIM, "a") as NodeClaim, "Drained")?.status).toBe(
        "Unknown",
      );
      const told = world.published.find(({ reason }) => reason === "FailedDraining");
      expect(told?.message).toContain("1 pods are waiting to be evicted");
      unseen.pop();
      await world.api.create(POD, later);
      await world.clock.advance(20_000);
      expect(world.api.journal).toContain("evict default/later");
      expect(world.cloud.instances.size).toBe(0);
      await world.stop();
    });

    it("evicts that pod also where the server's cache lacks it and is older than the closed Node", async () => {
      const world = await joined();
      const { list } = world.kube;
      const old = await list(POD);
      const unseen = [later];
      withUnseen(world, unseen, { isUp: false });
      const fresh = world.kube.list;
      const asked: (string | undefined)[] = [];
      const behind: typeof list = (kind, options) => {
        if (options?.fieldSelector !== "spec.nodeName=node-a") return fresh(kind, options);
        asked.push(options.resourceVersion);
        return options.resourceVersion === "0"
          ? list(kind, options).then((found) => ({
              ...found,
              resourceVersion: old.resourceVersion,
            }))
          : fresh(kind, options);
      };
      Object.assign(world.kube, { list: behind });
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(60_000);
      expect(unseen).toEqual([]);
      expect(world.published.map(({ reason }) => reason)).toContain("Evicted");
      expect(world.cloud.instances.size).toBe(0);
      expect(asked).toContain(undefined);
      await world.stop();
    });

    it("waits until terminationGracePeriod at most, and not for pods that tolerate the disruption taint", async () => {
      // The deadline lies between two reconciles.
      const world = await joined("2m2s");
      withUnseen(world, [later]);
      await world.api.delete(NODE_CLAIM, { name: "a" });
      await world.clock.advance(121_000);
      expect(world.cloud.instances.size).toBe(1);
      await world.clock.advance(2_000);
      expect(world.cloud.instances.size).toBe(0);
      await world.stop();
      const other = await joined();
      const tolerations = [{ key: "karpenter.sh/disrupted", operator: "Exists" as const }];
      withUnseen(other, [onNode("daemon", { spec: { tolerations } })]);
      await other.api.delete(NODE_CLAIM, { name: "a" });
      await other.clock.advance(20_000);
      expect(other.cloud.instances.size).toBe(0);
      await other.stop();
    });
  });

  it("deletes a Node at once, without evicting its pods, if its instance is gone", async () => {
    const world = await joined();
    await world.api.create(POD, onNode("stuck"));
    world.cloud.instances.clear();
    world.api.change(NODE, "node-a", {
      status: { conditions: [{ type: "Ready", status: "Unknown" }] },
    });
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.settle();
    expect(world.api.all(NODE)).toEqual([]);
    expect(podsLeft(world)).toEqual(["stuck"]);
    await world.stop();
  });

  it.each([
    [
      "drains a Node of a Provisioner that never had a Machine, if Machines are not installed",
      [],
      [],
    ],
    [
      "holds a Node whose Machine is gone with the definition of Machines",
      [{ apiVersion: "karpenter.sh/v1alpha5", kind: "Machine", name: "m", uid: "m-1" }],
      ["on-it"],
    ],
  ])("%s", async (_title, ownerReferences, left) => {
    const world = fakeWorld();
    await defineNodeClaims(world);
    const labels = {
      "karpenter.test.sh/testnodeclass": "default",
      "karpenter.sh/provisioner-name": "default",
    };
    const old = node({ name: "node-a", labels, providerId: "fake://1" });
    const finalizers = ["karpenter.sh/termination"];
    await world.api.create(NODE, {
      ...old,
      metadata: { ...old.metadata, finalizers, ownerReferences },
    });
    await world.api.create(POD, onNode("on-it"));
    const queue = createEvictionQueue(world);
    await world.run(queue.controller, termination(world, queue, { mayLeave: () => true }));
    await world.api.delete(NODE, { name: "node-a" });
    await world.clock.advance(60_000);
    expect(podsLeft(world)).toEqual(left);
    await world.stop();
  });

  it("does not taint a deleted Node without NodeClaim", async () => {
    const world = await joined();
    await world.api.create(NODE, { metadata: { name: "theirs", finalizers: ["x/y"] } });
    await world.api.delete(NODE, { name: "theirs" });
    await world.clock.advance(10_000);
    expect(world.api.find(NODE, "theirs")?.spec?.taints).toBeUndefined();
    await world.stop();
  });
});
