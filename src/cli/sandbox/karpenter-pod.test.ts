// A user restarts Karpenter by deleting its pod.
import { expect, it } from "vitest";
import { POD } from "../../apis/core/pod.ts";
import { VirtualClock } from "../../base/virtual-clock.ts";
import { controllerPod } from "../../sandbox/base-state.ts";
import { fakeKube } from "../../testing/fake-kube.ts";
import { restartWithPod } from "./karpenter-pod.ts";

it("the sandbox starts Karpenter again when its pod is deleted, in a pod of the same name", async () => {
  const clock = new VirtualClock();
  const client = fakeKube(clock);
  const pod = await client.create(POD, controllerPod("base-node"));
  const told: unknown[] = [];
  const box = { sandbox: { client }, restart: async () => void told.push("restarted") };
  const stop = restartWithPod(box as never, (error) => told.push(error));
  await clock.advance(1_000);
  expect(told).toEqual([]);
  await client.delete(POD, { namespace: "karpenter", name: "karpenter-0" });
  await clock.advance(1_000);
  expect(told).toEqual(["restarted"]);
  const after = client.find(POD, "karpenter/karpenter-0");
  expect(after?.metadata.uid).not.toBe(pod.metadata.uid);
  expect(after?.spec.nodeName).toBe("base-node");
  stop();
});
