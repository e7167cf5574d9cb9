import { describe, expect, it } from "vitest";
import { EVENT } from "../../apis/core/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { PRIORITY_CLASS } from "../../apis/policy/kinds.ts";
import { testPod } from "../testing/objects.ts";
import { type PartsCluster, startParts } from "../testing/parts-cluster.ts";

/** A cluster with one node of 4 cpu and three priorities. */
async function cluster(): Promise<PartsCluster> {
  const parts = await startParts();
  parts.node("a");
  for (const [name, value, preemptionPolicy] of [
    ["low", -10, undefined],
    ["high", 100, undefined],
    ["patient", 100, "Never"],
  ] as const) {
    await parts.create(PRIORITY_CLASS, {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name },
      value,
      ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
    });
  }
  return parts;
}

async function add(
  parts: PartsCluster,
  name: string,
  cpu: string,
  priorityClassName: string,
): Promise<void> {
  await parts.create(POD, testPod(name, { requests: { cpu }, priorityClassName }));
  await parts.clock.advance(4_000);
}

function pod(parts: PartsCluster, name: string): Promise<Pod> {
  return parts.get(POD, name);
}

describe("a pending pod with a higher priority than the pods on the node", () => {
  it("preempts as few pods as it needs, waits until they are gone, and gets the node", async () => {
    const parts = await cluster();
    await add(parts, "low-1", "2", "low");
    await add(parts, "low-2", "1", "low");
    await parts.create(POD, testPod("vip", { requests: { cpu: "2" }, priorityClassName: "high" }));
    await parts.clock.advance(500);
    const waiting = await pod(parts, "vip");
    expect(waiting.spec.nodeName).toBeUndefined();
    expect(waiting.status?.nominatedNodeName).toBe("a");
    expect(waiting.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message).toBe(
      "0/1 nodes are available: 1 Insufficient cpu.",
    );
    // Of two pods of equal priority the older one stays if that is possible: 2 of 4 cpu are needed,
    // and 1 is free.
    const victim = await pod(parts, "low-2");
    expect(victim.metadata.deletionTimestamp).toBeDefined();
    expect(victim.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: "DisruptionTarget",
        status: "True",
        reason: "PreemptionByScheduler",
        message: "default-scheduler: preempting to accommodate a higher priority pod",
      }),
    );
    await parts.clock.advance(10_000);
    const placed = await pod(parts, "vip");
    expect(placed.spec.nodeName).toBe("a");
    const names = (await parts.pods()).map(({ metadata }) => metadata.name);
    expect(names).toEqual(["low-1", "vip"]);
    const events = (await parts.kube.list(EVENT)).items as unknown as {
      reason: string;
      message: string;
    }[];
    expect(events.find(({ reason }) => reason === "Preempted")?.message).toBe(
      `Preempted by pod ${placed.metadata.uid} on node a`,
    );
    await parts.stop();
  });

  it("does not lose its room to a pod of lower priority", async () => {
    const parts = await cluster();
    await add(parts, "low-1", "3500m", "low");
    await parts.create(POD, testPod("vip", { requests: { cpu: "3" }, priorityClassName: "high" }));
    await parts.clock.advance(500);
    await parts.create(POD, testPod("late", { requests: { cpu: "2" }, priorityClassName: "low" }));
    await parts.clock.advance(10_000);
    expect((await pod(parts, "vip")).spec.nodeName).toBe("a");
    expect((await pod(parts, "late")).spec.nodeName).toBeUndefined();
    await parts.stop();
  });

  it("does not wait forever for room that a pod of equal priority is nominated for", async () => {
    const parts = await cluster();
    await add(parts, "low-0", "0", "low");
    await add(parts, "low-1", "3500m", "low");
    for (const name of ["vip-1", "vip-2", "vip-3"])
      await parts.create(POD, testPod(name, { requests: { cpu: "3" }, priorityClassName: "high" }));
    await parts.clock.advance(60_000);
    const vips = await Promise.all(["vip-1", "vip-2", "vip-3"].map((name) => pod(parts, name)));
    const [bound, ...others] = vips.toSorted((a) => (a.spec.nodeName === undefined ? 1 : -1));
    expect(bound?.spec.nodeName).toBe("a");
    expect(others.map(({ status }) => status?.nominatedNodeName)).toEqual([undefined, undefined]);
    expect((await pod(parts, "low-0")).metadata.deletionTimestamp).toBeUndefined();
    await parts.stop();
  });

  it("waits if its priority class says so", async () => {
    const parts = await cluster();
    await add(parts, "low-1", "3500m", "low");
    await add(parts, "patient", "3", "patient");
    const { status } = await pod(parts, "patient");
    expect(status?.nominatedNodeName).toBeUndefined();
    expect(status?.conditions?.[0]?.message).toContain(
      "not eligible due to preemptionPolicy=Never",
    );
    expect((await pod(parts, "low-1")).metadata.deletionTimestamp).toBeUndefined();
    await parts.stop();
  });
});
