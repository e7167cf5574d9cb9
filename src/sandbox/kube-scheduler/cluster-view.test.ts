import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import { testNode, testPod } from "../testing/objects.ts";
import { NO_SURROUNDINGS } from "../testing/snapshots.ts";
import { ClusterView } from "./cluster-view.ts";

/** A pod on node `a` that requests 1 cpu, while the kubelet reports that `cpu` is allocated to it. */
function holding(cpu: string): Pod {
  const status = { name: "main", ready: true, allocatedResources: { cpu } };
  const pod = testPod("resized", { nodeName: "a", requests: { cpu: "1" } });
  return { ...pod, status: { phase: "Running", containerStatuses: [status] } } as unknown as Pod;
}

describe("the scheduler's view of the cluster", () => {
  it("counts the resources that the kubelet allocated to a pod, and retries pods that may fit now", () => {
    const view = new ClusterView(NO_SURROUNDINGS, () => 0);
    view.takeNode(testNode("a"), undefined);
    view.takePod(holding("3"), undefined);
    view.takePod(testPod("waits", { requests: { cpu: "2" } }), undefined);
    const first = view.queue.pop(0);
    if (first === undefined) throw new Error("nobody waits");
    view.applyChanges(0);
    view.queue.giveUp(first, new Set(["NodeResourcesFit"]), 0);

    view.takePod(holding("3"), holding("3"));
    view.applyChanges(5_000);
    expect(view.queue.pop(10_000)).toBeUndefined();

    view.takePod(holding("1"), holding("3"));
    expect(view.snapshot.node("a")?.requested["cpu"]).toBe(1_000);
    view.applyChanges(5_000);
    expect(view.queue.pop(10_000)?.pod.pod.metadata.name).toBe("waits");
  });
});
