// Pods that require pods like themselves nearby: wherever the first one is placed, all others must follow.
import { describe, expect, it } from "vitest";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import type { LabelSelector } from "../../../apis/meta.ts";
import {
  instanceType,
  nodeView,
  type PodOptions,
  pod,
  pods,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const HOST = "kubernetes.io/hostname";
const WEB = { matchLabels: { app: "web" } };

function near(labelSelector: LabelSelector, topologyKey = ZONE) {
  const terms = [{ topologyKey, labelSelector }];
  return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
}

const together = (topologyKey = ZONE, spec: Partial<Pod["spec"]> = {}): PodOptions => ({
  labels: { app: "web" },
  spec: { affinity: near(WEB, topologyKey), ...spec },
});

interface Room {
  readonly zone: string;
  readonly cpu: string;
  readonly taints?: readonly Taint[];
  readonly pods?: readonly Pod[];
  readonly labels?: Readonly<Record<string, string>>;
}

/** Existing nodes named `a`, `b`, …, in the order in which they are tried. */
function nodesOf(rooms: readonly Room[]) {
  return rooms.map(({ zone, cpu, taints = [], pods: running = [], labels = {} }, index) =>
    nodeView({
      node: {
        name: "abcdef"[index] as string,
        labels: { [ZONE]: zone, ...labels },
        taints: [...taints],
        capacity: { cpu },
      },
      pods: running,
    }),
  );
}

/**
 * The plan as text: `node: pods` for each node with new pods, `left: pods` for pods without a place. New nodes are
 * named `new ZONE`.
 */
function placed(
  batch: readonly Pod[],
  rooms: readonly Room[],
  types = [] as { cpu: number; zones: string[] }[],
) {
  const pools =
    types.length === 0
      ? []
      : [
          poolInput(
            {},
            types.map((one) => instanceType(one)),
          ),
        ];
  const result = solve(schedulingInput({ pods: batch, nodes: nodesOf(rooms), pools }));
  const lines = result.existing.map(({ nodeName, pods: own }) => `${nodeName}: ${namesOf(own)}`);
  for (const { pods: own, cheapest } of result.newClaims)
    lines.push(`new ${cheapest.zone}: ${namesOf(own)}`);
  if (result.unschedulable.length > 0)
    lines.push(`left: ${namesOf(result.unschedulable.map((one) => one.pod))}`);
  return lines;
}

function namesOf(some: readonly Pod[]): string {
  return some
    .map(({ metadata }) => metadata.name)
    .sort()
    .join(" ");
}

describe("pods with zonal pod affinity to each other", () => {
  const three = pods(3, { name: "p", cpu: "1", ...together() });

  it("go to the zone with room for all, even if a node in another zone comes first", () => {
    const rooms = [
      { zone: "zone-a", cpu: "2" },
      { zone: "zone-b", cpu: "3" },
    ];
    expect(placed(three, rooms)).toEqual(["b: p-0 p-1 p-2"]);
  });

  it("go to the zone with room for most if no zone has room for all", () => {
    const rooms = [
      { zone: "zone-a", cpu: "1" },
      { zone: "zone-b", cpu: "1" },
      { zone: "zone-b", cpu: "1" },
    ];
    expect(placed(three, rooms)).toEqual(["b: p-0", "c: p-1", "left: p-2"]);
  });

  it("go to the zone with room for all pod classes of the group", () => {
    const large = pod({ name: "large", cpu: "3", ...together() });
    const small = pods(4, { name: "p", cpu: "1", ...together() });
    const rooms = [
      { zone: "zone-a", cpu: "3" },
      { zone: "zone-b", cpu: "2" },
      { zone: "zone-b", cpu: "5" },
    ];
    expect(placed([large, ...small], rooms)).toEqual(["b: p-0 p-1", "c: large p-2 p-3"]);
  });

  it("form one group even if two selectors express the same affinity", () => {
    const labels = { app: "web", tier: "front" };
    const affinity = near({ matchLabels: { tier: "front" } });
    const first = pod({ name: "first", cpu: "1100m", labels, spec: { affinity } });
    const others = pods(3, { name: "p", cpu: "1", labels, spec: { affinity: near(WEB) } });
    const rooms = [
      { zone: "zone-a", cpu: "2900m" },
      { zone: "zone-b", cpu: "4200m" },
    ];
    expect(placed([first, ...others], rooms)).toEqual(["b: first p-0 p-1 p-2"]);
    // Three pods require the first pod nearby, but the first pod does not require them.
    const lone = pods(3, { name: "p", cpu: "1", labels: { tier: "front" }, spec: { affinity } });
    const web = pod({ name: "first", cpu: "1100m", labels, spec: { affinity: near(WEB) } });
    expect(placed([web, ...lone], rooms)).toEqual(["a: first p-0", "left: p-1 p-2"]);
  });

  it("skip nodes whose taints or labels exclude one pod of the group", () => {
    const taints = [{ key: "team", effect: "NoSchedule" as const }];
    const free = { zone: "zone-b", cpu: "3" };
    expect(placed(three, [{ zone: "zone-a", cpu: "3", taints }, free])).toEqual(["b: p-0 p-1 p-2"]);
    const onSsd = pod({
      name: "ssd",
      cpu: "500m",
      ...together(ZONE, { nodeSelector: { disk: "ssd" } }),
    });
    const two = [onSsd, pod({ name: "any", cpu: "1", ...together() })];
    const ssd = { ...free, labels: { disk: "ssd" } };
    expect(placed(two, [{ zone: "zone-a", cpu: "3" }, ssd])).toEqual(["b: any ssd"]);
  });

  it("go to the zone in which a new node can be launched for the rest", () => {
    const rooms = [
      { zone: "zone-a", cpu: "2" },
      { zone: "zone-b", cpu: "1" },
    ];
    expect(placed(three, rooms, [{ cpu: 4, zones: ["zone-b"] }])).toEqual([
      "b: p-0",
      "new zone-b: p-1 p-2",
    ]);
    const small = { cpu: 0.5, zones: ["zone-b"] };
    expect(placed(three, rooms, [small])).toEqual(["a: p-0 p-1", "left: p-2"]);
  });

  it("skip zones that an anti-affinity of theirs excludes", () => {
    const noisy = pod({ name: "noisy", nodeName: "a", labels: { app: "noisy" } });
    const terms = [{ topologyKey: ZONE, labelSelector: { matchLabels: { app: "noisy" } } }];
    const apart = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
    const quiet = { affinity: { ...near(WEB), ...apart } };
    const two = pods(2, { name: "p", cpu: "1", labels: { app: "web" }, spec: quiet });
    const rooms = [
      { zone: "zone-a", cpu: "8", pods: [noisy] },
      { zone: "zone-b", cpu: "1" },
      { zone: "zone-c", cpu: "2" },
    ];
    expect(placed(two, rooms)).toEqual(["c: p-0 p-1"]);
  });
});

describe("pods with pod affinity to each other on the host", () => {
  const three = pods(3, { name: "p", cpu: "1", ...together(HOST) });

  it("go to the node with room for all", () => {
    const rooms = [
      { zone: "zone-a", cpu: "2" },
      { zone: "zone-a", cpu: "3" },
    ];
    expect(placed(three, rooms)).toEqual(["b: p-0 p-1 p-2"]);
  });

  it("go to a new node if no existing node has room for all", () => {
    const types = [{ cpu: 4, zones: ["zone-a"] }];
    expect(placed(three, [{ zone: "zone-a", cpu: "2" }], types)).toEqual([
      "new zone-a: p-0 p-1 p-2",
    ]);
  });

  it("go to the node with room for most of them, if not all fit", () => {
    const large = pod({ name: "large", cpu: "2", ...together(HOST) });
    const rooms = [{ zone: "zone-a", cpu: "3" }];
    expect(placed([large, ...three], rooms)).toEqual(["a: large p-0", "left: p-1 p-2"]);
    expect(placed([large, ...three], [], [{ cpu: 3, zones: ["zone-a"] }])).toEqual([
      "new zone-a: p-0 p-1 p-2",
      "left: large",
    ]);
  });

  /** Pods that prefer to be alone in their zone, and prefer the zone with the fewest pods of tier front. */
  const choosy = pods(3, {
    name: "p",
    cpu: "1",
    ...together(HOST, {
      affinity: {
        ...near(WEB, HOST),
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: ZONE, labelSelector: WEB } },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          ...{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "ScheduleAnyway" as const },
          labelSelector: { matchLabels: { tier: "front" } },
        },
      ],
    }),
  });

  it("go to the node with room for all, against their preferred anti-affinity", () => {
    const rooms = [
      { zone: "zone-a", cpu: "2" },
      { zone: "zone-b", cpu: "3" },
    ];
    expect(placed(choosy, rooms)).toEqual(["b: p-0 p-1 p-2"]);
  });

  it("go to a new node with room for all, against a preferred spread over zones", () => {
    const running = [pod({ name: "front", cpu: "1", nodeName: "a", labels: { tier: "front" } })];
    const types = [
      { cpu: 2, zones: ["zone-a"] },
      { cpu: 4, zones: ["zone-b"] },
    ];
    expect(placed(choosy, [{ zone: "zone-b", cpu: "1", pods: running }], types)).toEqual([
      "new zone-b: p-0 p-1 p-2",
    ]);
  });

  it("count only one pod with the same host port for each node", () => {
    const containers = [
      {
        name: "main",
        ports: [{ containerPort: 80, hostPort: 80 }],
        resources: { requests: { cpu: "1" } },
      },
    ];
    const held = pods(2, { name: "port", ...together(HOST, { containers }) });
    const rooms = [
      { zone: "zone-a", cpu: "2" },
      { zone: "zone-a", cpu: "3" },
    ];
    // The first node has room for one pod with a port and one without.
    expect(placed([...held, ...three.slice(0, 1)], rooms)).toEqual([
      "a: p-0 port-0",
      "left: port-1",
    ]);
  });

  it("count only as many pods as their topology spread allows in one zone", () => {
    const rule = {
      ...{ maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable: "DoNotSchedule" as const },
      labelSelector: { matchLabels: { tier: "front" } },
    };
    const spec = { affinity: near(WEB, HOST), topologySpreadConstraints: [rule] };
    const labels = { app: "web", tier: "front" };
    const spread = pods(2, { name: "s", cpu: "1", labels, spec });
    const rooms = [
      { zone: "zone-a", cpu: "2" },
      { zone: "zone-b", cpu: "3" },
    ];
    expect(placed([...spread, ...three.slice(0, 1)], rooms)).toEqual(["a: p-0 s-0", "left: s-1"]);
  });
});
