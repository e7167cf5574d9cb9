// Reboots of instances with the real manager, from the unhealthy condition of a Node until pods can run there again.
import { describe, expect, it } from "vitest";
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD } from "../../apis/core/pod.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { NODE_CLAIM, type NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { RebootRefusedError } from "../../core/cloudprovider/errors.ts";
import { nodePool, pod } from "../../testing/builders.ts";
import { establish, FAKE_CLASS_REF } from "../../testing/established.ts";
import { FAKE_NODE_CLASS } from "../../testing/fake-cloud.ts";
import { type FakeWorld, fakeWorld } from "../../testing/fake-world.ts";
import { unseenByMirrors } from "../../testing/unseen.ts";
import { allControllers } from "../all.ts";

const MINUTE_MS = 60_000;
const ANY = { source: ".*", matches: () => true };

/** A world with one node and a pod, in a pool whose budgets do not limit repair. */
async function oneNode(
  given: { readonly grace?: number; readonly podAnnotations?: Record<string, string> } = {},
): Promise<FakeWorld> {
  const world = fakeWorld({ gates: { nodeRepair: true } });
  world.cloud.repairPolicies = [
    {
      conditionType: "Ready",
      conditionStatus: "Unknown",
      tolerationMs: 10 * MINUTE_MS,
      priority: 0,
      action: "ReplaceNode",
    },
    {
      conditionType: "Gpu",
      conditionStatus: "False",
      reasonRegex: ANY,
      tolerationMs: MINUTE_MS,
      terminationGracePeriodMs: given.grace ?? 2 * MINUTE_MS,
      priority: 0,
      action: "RebootNode",
    },
  ];
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  await world.api.create(FAKE_NODE_CLASS, { metadata: { name: "default" }, status } as never);
  await world.api.create(
    NODE_POOL,
    nodePool({
      spec: { disruption: { consolidateAfter: "Never", budgets: [{ nodes: "1" }] } },
      template: { nodeClassRef: FAKE_CLASS_REF },
    }),
  );
  await establish(world, "a", 60 * MINUTE_MS);
  const app = pod({ name: "app", cpu: "3", nodeName: "a" });
  const { podAnnotations: annotations } = given;
  await world.api.create(POD, {
    ...app,
    metadata: { ...app.metadata, ...(annotations === undefined ? {} : { annotations }) },
  });
  await world.run(...allControllers(world));
  return world;
}

function report(world: FakeWorld, bootID: string, gpu: "True" | "False"): void {
  reportAll(world, bootID, { gpu, ready: "True" });
}

function reportAll(
  world: FakeWorld,
  bootID: string,
  { gpu, ready }: Readonly<Record<"gpu" | "ready", "True" | "False">>,
): void {
  const lastTransitionTime = toRfc3339(world.clock.now());
  const conditions = [
    { type: "Ready", status: ready, lastTransitionTime },
    { type: "Gpu", status: gpu, reason: "XID48", lastTransitionTime },
  ];
  world.api.change(NODE, "a", { status: { conditions, nodeInfo: { bootID } } });
}

const claimOf = (world: FakeWorld) => world.api.find(NODE_CLAIM, "a") as NodeClaim;
const nodeOf = (world: FakeWorld) => world.api.find(NODE, "a") as Node;
const rebooting = (world: FakeWorld) => {
  const found = condition(claimOf(world), "Rebooting");
  return [found?.status, found?.reason];
};
const taints = (world: FakeWorld) => (nodeOf(world).spec?.taints ?? []).map(({ key }) => key);
const told = (world: FakeWorld) => world.published.map(({ reason }) => reason);
const others = (world: FakeWorld) =>
  world.api.all(NODE_CLAIM).filter(({ metadata }) => metadata.name !== "a");

describe("a reboot of an unhealthy node", () => {
  it("taints and drains the Node, reboots the instance once, and untaints the Node at its next boot ID", async () => {
    const world = await oneNode();
    report(world, "one", "False");
    await world.clock.advance(62_000);
    expect(rebooting(world)).toEqual(["True", "RebootRequested"]);
    expect(condition(claimOf(world), "Rebooting")?.message).toBe("rebooting for Gpu/XID48");
    expect(condition(claimOf(world), "DisruptionReason")?.reason).toBe("Unhealthy");
    expect(taints(world)).toEqual(["karpenter.sh/rebooting"]);
    expect(claimOf(world).metadata.annotations).toMatchObject({
      "karpenter.sh/reboot-termination-grace-period": "2m0s",
    });
    await world.clock.advance(15_000);
    expect(world.api.all(POD)).toEqual([]);
    expect(world.cloud.reboots).toEqual([expect.stringMatching(/-one$/)]);
    expect(rebooting(world)).toEqual(["True", "RebootIssued"]);
    expect(condition(claimOf(world), "Initialized")).toMatchObject({
      status: "Unknown",
      reason: "Rebooting",
    });
    expect(nodeOf(world).metadata.labels).not.toHaveProperty("karpenter.sh/initialized");
    // The pods wait for this node. While it reboots, no other node is launched for them.
    await world.api.create(POD, pod({ name: "next", cpu: "3" }));
    await world.clock.advance(MINUTE_MS);
    expect(others(world)).toEqual([]);
    reportAll(world, "two", { gpu: "True", ready: "False" });
    await world.clock.advance(1_000);
    expect([taints(world), told(world).includes("RebootObserved")]).toEqual([[], true]);
    expect(rebooting(world)).toEqual(["True", "RebootIssued"]);
    report(world, "two", "True");
    await world.clock.advance(5_000);
    expect(rebooting(world)).toEqual(["False", "RebootSucceeded"]);
    expect(condition(claimOf(world), "Initialized")?.status).toBe("True");
    expect(condition(claimOf(world), "DisruptionReason")).toBeUndefined();
    expect(nodeOf(world).metadata.labels).toHaveProperty("karpenter.sh/initialized");
    expect(Object.keys(claimOf(world).metadata.annotations ?? {})).not.toContain(
      "karpenter.sh/reboot-pre-boot-id",
    );
    expect(world.measured.get("nodes_reboots_total{result=succeeded}")).toBe(1);
    expect(world.cloud.reboots).toHaveLength(1);
    expect(
      world.measured.get(
        "voluntary_disruption_decisions_total{decision=reboot,reason=unhealthy,consolidation_type=}",
      ),
    ).toBe(1);
    await world.stop();
  });

  it("publishes RebootObserved, also if the Node is Ready as soon as it reports its new boot ID", async () => {
    const world = await oneNode();
    report(world, "one", "False");
    await world.clock.advance(77_000);
    expect([rebooting(world), told(world).includes("RebootObserved")]).toEqual([
      ["True", "RebootIssued"],
      false,
    ]);
    reportAll(world, "two", { gpu: "True", ready: "True" });
    await world.clock.advance(5_000);
    expect(rebooting(world)).toEqual(["False", "RebootSucceeded"]);
    expect(told(world)).toContain("RebootObserved");
    await world.stop();
  });

  it("happens after its termination grace period, though a do-not-disrupt pod is still there", async () => {
    const world = await oneNode({ podAnnotations: { "karpenter.sh/do-not-disrupt": "true" } });
    report(world, "one", "False");
    await world.clock.advance(75_000 + MINUTE_MS);
    expect([world.cloud.reboots, world.api.all(POD).length]).toEqual([[], 1]);
    await world.clock.advance(MINUTE_MS);
    expect(world.cloud.reboots).toHaveLength(1);
    await world.clock.advance(5 * MINUTE_MS);
    expect(world.api.all(POD).map(({ metadata }) => metadata.deletionTimestamp)).toEqual([
      undefined,
    ]);
    await world.stop();
  });

  const brakeOn = ({ brake, clock }: FakeWorld) => {
    for (let at = 0; at < 7; at++) brake.take(`other-${at}`, clock.elapsedMs(), 1);
  };
  const guarded = { podAnnotations: { "karpenter.sh/do-not-disrupt": "true" } };

  it.each([
    [
      "gets the do-not-repair annotation",
      ({ api }: FakeWorld) =>
        api.change(NODE, "a", {
          metadata: { annotations: { "karpenter.sh/do-not-repair": "true" } },
        }),
    ],
    ["is held by the brake", brakeOn],
  ])("is not done where the Node %s during the drain: it is untainted", async (_, happens) => {
    const world = await oneNode(guarded);
    report(world, "one", "False");
    await world.clock.advance(75_000);
    expect(taints(world)).toEqual(["karpenter.sh/rebooting"]);
    happens(world);
    await world.clock.advance(4 * MINUTE_MS);
    expect([world.cloud.reboots, taints(world)]).toEqual([[], []]);
    expect(rebooting(world)).toEqual([undefined, undefined]);
    expect(condition(claimOf(world), "DisruptionReason")).toBeUndefined();
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    await world.stop();
  });

  it("happens though the unhealthy condition clears during the drain, as upstream's suite asks", async () => {
    const world = await oneNode(guarded);
    report(world, "one", "False");
    await world.clock.advance(75_000);
    expect(taints(world)).toEqual(["karpenter.sh/rebooting"]);
    report(world, "one", "True");
    await world.clock.advance(4 * MINUTE_MS);
    expect(world.cloud.reboots).toHaveLength(1);
    await world.stop();
  });

  it("is not requested while the brake is on, and counts once for the brake", async () => {
    const held = await oneNode();
    brakeOn(held);
    report(held, "one", "False");
    await held.clock.advance(5 * MINUTE_MS);
    expect([taints(held), rebooting(held)]).toEqual([[], [undefined, undefined]]);
    await held.stop();

    const world = await oneNode();
    report(world, "one", "False");
    await world.clock.advance(90_000);
    expect(world.cloud.reboots).toHaveLength(1);
    expect(world.brake.counted(world.clock.elapsedMs())).toHaveLength(1);
    expect(world.measured.get("involuntary_ends_total{act=reboot}")).toBe(1);
    await world.stop();
  });

  it("replaces a node that does not come back", async () => {
    const world = await oneNode();
    report(world, "one", "False");
    await world.clock.advance(85_000 + 19 * MINUTE_MS);
    expect(claimOf(world).metadata.deletionTimestamp).toBeUndefined();
    world.cloud.endsAfter = 1_000_000;
    await world.clock.advance(2 * MINUTE_MS);
    expect(claimOf(world).metadata.deletionTimestamp).toBeDefined();
    expect(
      claimOf(world).metadata.annotations?.["karpenter.sh/nodeclaim-termination-timestamp"],
    ).toBeDefined();
    expect(rebooting(world)).toEqual(["False", "RebootFailed"]);
    expect(told(world)).toContain("RebootFailed");
    expect(world.measured.get("nodes_reboots_total{result=recovery_timeout}")).toBe(1);
    expect(world.measured.get("involuntary_ends_total{act=rebootFailed}")).toBe(1);
    await world.stop();
  });

  it("deletes the NodeClaim if the cloud refuses the reboot for good, and retries other errors", async () => {
    const refused = await oneNode();
    refused.cloud.endsAfter = 1_000_000;
    refused.cloud.rebootRefusals.push(new RebootRefusedError("grant ec2:RebootInstances"));
    report(refused, "one", "False");
    await refused.clock.advance(90_000);
    expect(claimOf(refused).metadata.deletionTimestamp).toBeDefined();
    expect(refused.measured.get("nodes_reboots_total{result=provider_error}")).toBe(1);
    await refused.stop();

    const busy = await oneNode();
    busy.cloud.rebootRefusals.push(new Error("busy"), new Error("busy"));
    report(busy, "one", "False");
    await busy.clock.advance(2 * MINUTE_MS);
    expect(busy.cloud.reboots).toHaveLength(1);
    expect(rebooting(busy)).toEqual(["True", "RebootIssued"]);
    await busy.stop();
  });

  it.each([
    ["has been requested", 65_000],
    ["was accepted by the cloud", 85_000],
  ])(
    "that %s deletes no NodeClaim whose Node exists, even if the informer lacks it",
    async (_, afterMs) => {
      const world = await oneNode();
      report(world, "one", "False");
      await world.clock.advance(afterMs);
      await world.stop();
      const next = fakeWorld({ gates: { nodeRepair: true } }, world);
      unseenByMirrors(next, NODE, "a");
      await next.run(...allControllers(next));
      report(next, "two", "True");
      await next.clock.advance(40 * MINUTE_MS);
      expect(claimOf(next).metadata.deletionTimestamp).toBeUndefined();
      expect(next.cloud.instances.size).toBe(1);
      await next.stop();
    },
  );

  it("continues and succeeds after a restart of the controller", async () => {
    const world = await oneNode();
    report(world, "one", "False");
    await world.clock.advance(85_000);
    await world.stop();
    const again = fakeWorld({ gates: { nodeRepair: true } }, world);
    await again.run(...allControllers(again));
    await again.clock.advance(MINUTE_MS);
    expect(rebooting(again)).toEqual(["True", "RebootIssued"]);
    report(again, "two", "True");
    await again.clock.advance(5_000);
    expect(rebooting(again)).toEqual(["False", "RebootSucceeded"]);
    expect(again.cloud.reboots).toHaveLength(1);
    await again.stop();
  });

  it("is not done a third time within a day: the node is replaced, also after a restart", async () => {
    let world = await oneNode();
    for (const boot of ["two", "three"]) {
      report(world, `before ${boot}`, "False");
      await world.clock.advance(90_000);
      expect(rebooting(world)).toEqual(["True", "RebootIssued"]);
      report(world, boot, "True");
      await world.clock.advance(5_000);
      expect(rebooting(world)[0]).toBe("False");
    }
    await world.stop();
    world = fakeWorld({ gates: { nodeRepair: true } }, world);
    await world.run(...allControllers(world));
    report(world, "three", "False");
    await world.api.create(POD, pod({ name: "app-2", cpu: "3", nodeName: "a" }));
    await world.clock.advance(90_000);
    expect(rebooting(world)[0]).toBe("False");
    expect(world.cloud.reboots).toHaveLength(2);
    expect(others(world)).toHaveLength(1);
    expect(world.lines.join()).toContain('"reboot-escalated":true');
    await world.stop();
  });
});
