import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import {
  instanceType,
  nodeClaim,
  nodeView,
  type PodOptions,
  pod,
  poolInput,
  schedulingInput,
} from "../../testing/builders.ts";
import type { PoolInput } from "./scheduling-input.ts";
import { solve } from "./solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const CPU = 4;

function at(name: string, zone = "zone-a", pods: readonly Pod[] = []) {
  const labels = { [ZONE]: zone, "karpenter.sh/initialized": "true" };
  const claim = nodeClaim({ name: `claim-of-${name}`, labels });
  return nodeView({ node: { name, labels, capacity: { cpu: String(CPU) } }, claim, pods });
}

interface Question {
  readonly pods: readonly Pod[];
  readonly sticky: Readonly<Record<string, string>>;
  readonly nodes?: ReturnType<typeof at>[];
  readonly pools?: PoolInput[];
}

const POOLS = [poolInput({}, [instanceType({ cpu: 8 })])];

/** Where each pod is placed, and why sticky pods lost their planned node. */
function asked({ pods, sticky, nodes = [at("a"), at("b"), at("c")], pools = POOLS }: Question) {
  const keyed = Object.entries(sticky).map(([name, node]) => [`default/${name}`, node] as const);
  const input = schedulingInput({ pods, nodes, pools, sticky: new Map(keyed) });
  const { existing, newClaims, unschedulable, unstuck = [] } = solve(input);
  const places = [
    ...existing.map(({ nodeName, pods: own }) => [nodeName, own] as const),
    ...newClaims.map(({ pods: own }) => ["new", own] as const),
    ...(unschedulable.length === 0 ? [] : [["left", unschedulable.map((one) => one.pod)] as const]),
  ];
  return {
    placed: places.map(([place, own]) => `${place}: ${namesOf(own)}`).sort(),
    unstuck: unstuck.map((one) => `${one.pod.metadata.name} ${one.target} ${one.reason}`),
  };
}

function namesOf(pods: readonly Pod[]): string {
  return pods
    .map(({ metadata }) => metadata.name)
    .sort()
    .join(" ");
}

const spread = (name: string, more: PodOptions = {}): Pod =>
  pod({
    name,
    labels: { app: "web" },
    ...more,
    spec: {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: ZONE,
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: { matchLabels: { app: "web" } },
        },
      ],
    },
  });

describe("a pod with a planned node", () => {
  it("goes to the node with that name or NodeClaim name, before larger pods", () => {
    const pods = [
      pod({ name: "large", cpu: "3" }),
      pod({ name: "p1", cpu: "2" }),
      pod({ name: "p2", cpu: "2" }),
    ];
    const sticky = { p1: "b", p2: "claim-of-b" };
    expect(asked({ pods, sticky })).toEqual({ placed: ["a: large", "b: p1 p2"], unstuck: [] });
  });

  it("is planned like any other pod if that node is gone or has no room", () => {
    const pods = [
      pod({ name: "big", cpu: "5" }),
      pod({ name: "fits", cpu: "3" }),
      pod({ name: "homeless", cpu: "1" }),
    ];
    const sticky = { big: "b", fits: "b", homeless: "elsewhere" };
    expect(asked({ pods, sticky })).toEqual({
      placed: ["a: homeless", "b: fits", "new: big"],
      unstuck: ["homeless elsewhere gone", "big b resources"],
    });
  });

  it("loses its planned node together with all equal pods if one does not fit", () => {
    const pods = ["p1", "p2", "p3"].map((name) => pod({ name, cpu: "2" }));
    const sticky = { p1: "b", p2: "b", p3: "b" };
    expect(asked({ pods, sticky })).toEqual({
      placed: ["a: p3", "b: p1 p2"],
      unstuck: ["p3 b resources"],
    });
  });

  it("goes there after the pods that its topology spread waits for", () => {
    const nodes = [at("a"), at("b", "zone-b"), at("c", "zone-c")];
    // Two pods are planned in zone-a. The second one may be placed there only after both other zones have a pod.
    const pods = ["p1", "p2", "p3", "p4"].map((name) => spread(name));
    const sticky = { p1: "a", p2: "a", p3: "b", p4: "c" };
    expect(asked({ pods, sticky, nodes })).toEqual({
      placed: ["a: p1 p2", "b: p3", "c: p4"],
      unstuck: [],
    });
  });

  it("goes there without preferences that the node does not meet", () => {
    const preference = {
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: ["zone-c"] }],
    };
    const nodeAffinity = {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference }],
    };
    const choosy = pod({ name: "choosy", spec: { affinity: { nodeAffinity } } });
    expect(asked({ pods: [choosy], sticky: { choosy: "b" } }).placed).toEqual(["b: choosy"]);
  });

  it("goes there if the node satisfies any of its required node affinity terms", () => {
    const inZone = (zone: string) => ({
      matchExpressions: [{ key: ZONE, operator: "In" as const, values: [zone] }],
    });
    const required = { nodeSelectorTerms: ["zone-a", "zone-b"].map(inZone) };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
    const pods = [pod({ name: "p", spec: { affinity: { nodeAffinity } } })];
    const nodes = [at("a"), at("b", "zone-b")];
    expect(asked({ pods, nodes, sticky: { p: "b" } })).toEqual({ placed: ["b: p"], unstuck: [] });
  });

  it("goes to its NodeClaim even before that is launched", () => {
    const claim = nodeClaim({ name: "young", status: {} });
    const unlaunched = { ...nodeView({ claim }), name: "young", allocatable: {}, capacity: {} };
    const pods = [pod({ name: "p", cpu: "3" })];
    const nodes = [unlaunched, at("b")];
    expect(asked({ pods, sticky: { p: "young" }, nodes }).placed).toEqual(["young: p"]);
  });

  it("loses its planned node if a pod of higher priority would have no place", () => {
    const important = pod({ name: "important", cpu: "4", spec: { priority: 10 } });
    const pods = [important, pod({ name: "usual", cpu: "1" }), pod({ name: "other", cpu: "2" })];
    const sticky = { usual: "a", other: "b" };
    const nodes = [at("a"), at("b")];
    expect(asked({ pods, sticky, nodes, pools: [] })).toEqual({
      placed: ["a: important", "b: other usual"],
      unstuck: ["usual a priority"],
    });
  });
});
