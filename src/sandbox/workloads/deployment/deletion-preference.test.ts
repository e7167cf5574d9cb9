import { describe, expect, it } from "vitest";
import type { Pod } from "../../../apis/core/pod.ts";
import { byDeletionPreference } from "./deletion-preference.ts";

interface Sketch {
  readonly node?: string;
  readonly phase?: "Pending" | "Running";
  readonly ready?: string;
  readonly created?: string;
  readonly cost?: string;
  readonly restarts?: number;
}

function pod(name: string, sketch: Sketch): Pod {
  const at = (time: string): string => `2026-01-05T${time}Z`;
  return {
    metadata: {
      name,
      creationTimestamp: at(sketch.created ?? "08:00:00"),
      ...(sketch.cost === undefined
        ? {}
        : { annotations: { "controller.kubernetes.io/pod-deletion-cost": sketch.cost } }),
    },
    spec: { containers: [], ...(sketch.node === undefined ? {} : { nodeName: sketch.node }) },
    status: {
      phase: sketch.phase ?? "Running",
      containerStatuses: [{ name: "main", ready: true, restartCount: sketch.restarts ?? 0 }],
      conditions:
        sketch.ready === undefined
          ? []
          : [{ type: "Ready", status: "True", lastTransitionTime: at(sketch.ready) }],
    },
  };
}

const READY = { node: "a", ready: "08:00:10" };

describe("a ReplicaSet deletes first a pod that", () => {
  it.each<[title: string, first: Sketch, second: Sketch]>([
    ["a pod without a node", { phase: "Pending" }, { node: "a", phase: "Pending" }],
    ["a pending pod", { node: "a", phase: "Pending" }, { node: "a" }],
    ["a pod that is not ready", { node: "a" }, READY],
    ["a pod with a low deletion cost", { ...READY, cost: "-5" }, READY],
    ["a pod on the more crowded node", { ...READY, node: "b" }, READY],
    ["a pod that became ready later", { ...READY, ready: "08:01:00" }, READY],
    ["a pod that restarted more often", { ...READY, restarts: 3 }, READY],
    ["a younger pod", { ...READY, created: "08:00:05" }, READY],
    ["a pod whose name comes first", READY, READY],
  ])("%s", (_, first, second) => {
    const crowding = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    // Order by name would be the opposite of the expected order, except in the case that the name
    // decides.
    const names = first === second ? ["a", "b"] : ["z", "a"];
    const pods = [pod(names[1] as string, second), pod(names[0] as string, first)];
    const order = byDeletionPreference(pods, crowding).map(({ metadata }) => metadata.name);
    expect(order).toEqual(names);
  });
});
