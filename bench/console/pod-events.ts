/**
 * The events that `npm run bench -- console` makes. `rollout`: pods of Deployments are replaced one by one; each
 * replacement causes the nine events of scheduler, kubelet and controllers. `moves`: each event shows a pod on
 * another node than before. No real cluster does that; it is the most expensive change for the console.
 */
import type { KubeObject } from "../../src/apis/meta.ts";
import { podOf } from "./cluster.ts";

export interface PodEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
}

/** Changes the list of pods, and returns the events of the next tick. */
export type PodEvents = (count: number) => readonly PodEvent[];

/** Pods by index, and how many nodes there are. */
export interface BenchFleet {
  readonly pods: KubeObject[];
  readonly nodes: number;
  readonly tickMs: number;
  readonly nextVersion: () => number;
}

export const POD_EVENTS: Readonly<Record<string, (fleet: BenchFleet) => PodEvents>> = {
  rollout,
  moves,
};

function moves({ pods, nodes, nextVersion }: BenchFleet): PodEvents {
  let at = 0;
  return (count) =>
    Array.from({ length: count }, () => {
      const index = (at * 7_919) % pods.length;
      const node = (index + at + Math.floor(at++ / pods.length)) % nodes;
      const object = podOf(index, node, nextVersion());
      pods[index] = object;
      return { type: "MODIFIED", object };
    });
}

type Change = Readonly<Record<string, unknown>>;

const condition = (type: string, status: string): Change => ({
  type,
  status,
  lastTransitionTime: "2026-01-02T00:00:00Z",
});

const started = (ready: "True" | "False", more: Change): Change => ({
  ...more,
  startTime: "2026-01-02T00:00:00Z",
  conditions: [
    condition("PodReadyToStartContainers", "podIP" in more ? "True" : "False"),
    condition("Initialized", "True"),
    condition("Ready", ready),
    condition("ContainersReady", ready),
    condition("PodScheduled", "True"),
  ],
});

const ADDRESSES = { hostIP: "10.0.0.1", podIP: "10.1.0.1" };
const LEAVES = { deletionTimestamp: "2026-01-02T00:01:00Z", deletionGracePeriodSeconds: 30 };

/** The events of one replacement: milliseconds after its start, which pod, and the fields that change. */
const LIFE: readonly (readonly [afterMs: number, pod: "new" | "old", what: Change])[] = [
  [0, "new", { status: { phase: "Pending" } }],
  [40, "new", { status: { phase: "Pending", conditions: [condition("PodScheduled", "True")] } }],
  [200, "new", { status: started("False", { phase: "Pending", hostIP: "10.0.0.1" }) }],
  [1_500, "new", { status: started("False", { phase: "Pending", ...ADDRESSES }) }],
  [3_000, "new", { status: started("True", { phase: "Running", ...ADDRESSES }) }],
  [3_100, "old", { metadata: LEAVES }],
  [5_000, "old", { metadata: LEAVES, status: started("False", { phase: "Running" }) }],
  [5_100, "old", { metadata: LEAVES, status: started("False", { phase: "Succeeded" }) }],
  [5_200, "old", { metadata: LEAVES, status: started("False", { phase: "Succeeded" }) }],
];

function rollout({ pods, nodes, tickMs, nextVersion }: BenchFleet): PodEvents {
  const due = new Map<number, (() => PodEvent)[]>();
  let [tick, begun, owed] = [0, 0, 0];

  function begin(): void {
    const index = (begun * 7_919) % pods.length;
    const old = pods[index] as KubeObject;
    const next = index + pods.length * (1 + Math.floor(begun / pods.length));
    const fresh = podOf(next, (begun * 31) % nodes);
    begun += 1;
    LIFE.forEach(([afterMs, which, what], step) => {
      const at = tick + Math.round(afterMs / tickMs);
      const events = due.get(at) ?? [];
      due.set(at, events);
      events.push(() => {
        const pod = changed(which === "new" ? fresh : old, what, nextVersion());
        if (step === 0) return { type: "ADDED", object: withoutNode(pod) };
        if (step < LIFE.length - 1) return { type: "MODIFIED", object: pod };
        pods[index] = changed(fresh, LIFE[4]?.[2] ?? {}, nextVersion());
        return { type: "DELETED", object: pod };
      });
    });
  }

  return (count) => {
    for (owed += count / LIFE.length; owed >= 1; owed--) begin();
    const events = (due.get(tick) ?? []).map((make) => make());
    due.delete(tick++);
    return events;
  };
}

function changed(pod: KubeObject, { metadata = {}, status }: Change, version: number): KubeObject {
  return {
    ...pod,
    ...(status === undefined ? {} : { status }),
    metadata: { ...pod.metadata, ...(metadata as object), resourceVersion: String(version) },
  } as KubeObject;
}

function withoutNode(pod: KubeObject): KubeObject {
  const { nodeName: _, ...spec } = (pod as unknown as { spec: Record<string, unknown> }).spec;
  return { ...pod, spec } as KubeObject;
}
