/**
 * Reports pods that lose the place that an earlier plan reserved for them, and frees these places. Published on each
 * pod, and logged once for each node and reason: why, and which pods got the room.
 */
import type { Pod } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import type { Logger } from "../../base/log.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import type { Unstuck } from "../../core/provisioning/result.ts";
import { some } from "../words.ts";
import type { World } from "../world.ts";
import { plannedNodeLost } from "./events.ts";
import { heldText } from "./hold-back.ts";
import { targetsOf } from "./nomination.ts";

const SENTENCES: Readonly<Record<Unstuck["reason"], string>> = {
  gone: "the node is gone or leaves",
  priority: "a more important pod needs its room",
  resources: "the node has not enough room left",
  taints: "the node has a taint that the pod does not tolerate",
  requirements: "the labels of the node do not meet what the pod requires",
  offerings: "the node cannot be had any more",
  limits: "a limit of the pool allows no such node",
  hostPorts: "another pod on the node uses its host port",
  topology: "a topology spread or affinity rule forbids it now",
  devices: "the node does not have the devices that the pod claims",
  volumes: "the node cannot attach its volumes",
  minValues: "the node does not meet minValues",
  noInstanceTypes: "no instance type is left",
};

/** Drops the reserved places of these pods, logs why, and publishes events. */
export function tellUnstuck(world: World, log: Logger, unstuck: readonly Unstuck[] = []): void {
  const byNode = new Map<string, { first: Unstuck; pods: Pod[] }>();
  // Pods of CapacityBuffers are not reported: other pods are meant to get their places.
  for (const one of unstuck.filter(({ pod }) => !isBufferPod(pod))) {
    const key = `${one.target} ${one.reason}`;
    const known = byNode.get(key);
    if (known === undefined) byNode.set(key, { first: one, pods: [one.pod] });
    else known.pods.push(one.pod);
  }
  for (const { first, pods } of byNode.values()) {
    const { target } = first;
    const why = whyLost(world, first);
    log.info("pods lost the node that was planned for them", {
      target,
      pods: some(pods.map(keyOf)),
      reason: why,
    });
    const names = targetsOf(world, target);
    const targets = names.length === 0 ? [target] : names;
    for (const pod of pods) {
      const said = [why, heldText(world, pod)].filter(Boolean).join("; ");
      world.events.publish(plannedNodeLost(pod, targets, said));
    }
  }
  for (const { pod, target } of unstuck) world.cluster.placements.giveUp(pod, target);
}

function whyLost({ cluster }: World, { target, reason }: Unstuck): string {
  const takers = reason === "resources" ? cluster.placements.unplannedPodsOn(target) : [];
  if (takers.length === 0) return SENTENCES[reason];
  return `${SENTENCES[reason]}: ${takers.join(", ")} ${takers.length === 1 ? "was" : "were"} bound there instead`;
}
