import { describe, expect, it } from "vitest";
import type { Pod, TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import {
  instanceType,
  nodeView,
  pod,
  poolInput,
  schedulingInput,
} from "../../../testing/builders.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";
const WEB = { matchLabels: { app: "web" } };

/** The new pods by value of the label on their planned nodes. `left`: pods without a place. */
function together(options: Partial<SchedulingInput>, key = ZONE): Record<string, string[]> {
  const { newClaims, unschedulable } = solve(schedulingInput(options));
  const names = (list: readonly Pod[]) => list.map((one) => one.metadata.name);
  const found: Record<string, string[]> = {};
  for (const { requirements, pods } of newClaims) {
    const value = requirements.find((one) => one.key === key)?.values?.join() ?? "?";
    found[value] = [...(found[value] ?? []), ...names(pods)].sort();
  }
  const left = names(unschedulable.map((one) => one.pod)).sort();
  return left.length === 0 ? found : { ...found, left };
}

function spread(
  name: string,
  constraint: Partial<TopologySpreadConstraint>,
  { labels = {}, spec = {} }: { labels?: Record<string, string>; spec?: Partial<Pod["spec"]> } = {},
): Pod {
  const whenUnsatisfiable = "DoNotSchedule" as const;
  const rule = { maxSkew: 1, topologyKey: ZONE, whenUnsatisfiable, labelSelector: WEB };
  return pod({
    name,
    labels: { app: "web", ...labels },
    spec: { ...spec, topologySpreadConstraints: [{ ...rule, ...constraint }] },
  });
}

const zones = (...names: readonly string[]) => [poolInput({}, [instanceType({ zones: names })])];

describe("a topology spread over a label that no instance type has", () => {
  it("uses the values in the pool's requirements as domains", () => {
    const key = "example.com/rack";
    const requirements = [{ key, operator: "In" as const, values: ["r1", "r2"] }];
    const batch = ["a", "b"].map((name) => spread(name, { topologyKey: key }));
    expect(together({ pods: batch, pools: [poolInput({ requirements })] }, key)).toEqual({
      r1: ["a"],
      r2: ["b"],
    });
  });
});

describe("a topology spread over the deprecated zone label", () => {
  it("spreads over zones", () => {
    const topologyKey = "failure-domain.beta.kubernetes.io/zone";
    const batch = ["a", "b"].map((name) => spread(name, { topologyKey }));
    expect(together({ pods: batch, pools: zones("zone-a", "zone-b") })).toEqual({
      "zone-a": ["a"],
      "zone-b": ["b"],
    });
  });
});

describe("a topology spread with the default nodeAffinityPolicy", () => {
  it("ignores a zone whose only node does not match the pod's node selector", () => {
    const there = nodeView({ node: { labels: { [ZONE]: "zone-x", disk: "hdd" } } });
    const spec = { nodeSelector: { disk: "ssd" } };
    const batch = ["a", "b", "c"].map((name) => spread(name, {}, { spec }));
    const types = [instanceType({ zones: ["zone-a"] })];
    const pools = [poolInput({ labels: { disk: "ssd" } }, types)];
    expect(together({ pods: batch, pools, nodes: [there] })).toEqual({ "zone-a": ["a", "b", "c"] });
  });
});

describe("matchLabelKeys of a spread", () => {
  it("counts each revision separately, also within one batch", () => {
    const inA = { nodeSelector: { [ZONE]: "zone-a" } };
    const rule = { matchLabelKeys: ["rev"], nodeAffinityPolicy: "Ignore" as const };
    const of = (name: string, rev: string) => spread(name, rule, { labels: { rev }, spec: inA });
    // All pods may use zone-a. Zone-b has a node without pods.
    const nodes = [nodeView({ node: { labels: { [ZONE]: "zone-b" } } })];
    const batch = [of("old-0", "1"), of("new-0", "2"), of("new-1", "2")];
    expect(together({ pods: batch, nodes, pools: zones("zone-a", "zone-b") })).toEqual({
      "zone-a": ["new-0", "old-0"],
      left: ["new-1"],
    });
  });

  it("ignores keys that the pod does not have", () => {
    const batch = ["a", "b"].map((name) => spread(name, { matchLabelKeys: ["rev"] }));
    expect(together({ pods: batch, pools: zones("zone-a", "zone-b") })).toEqual({
      "zone-a": ["a"],
      "zone-b": ["b"],
    });
  });
});

describe("mismatchLabelKeys of a pod anti-affinity", () => {
  it("keeps pods away from other tenants, but not from their own", () => {
    const term = { topologyKey: ZONE, labelSelector: WEB, mismatchLabelKeys: ["tenant"] };
    const affinity = {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] },
    };
    const of = (name: string, tenant: string, cpu: string) =>
      pod({ name, cpu, labels: { app: "web", tenant }, spec: { affinity } });
    const batch = [of("x-0", "x", "3"), of("y-0", "y", "2"), of("y-1", "y", "1")];
    expect(together({ pods: batch, pools: zones("zone-a", "zone-b") })).toEqual({
      "zone-a": ["x-0"],
      "zone-b": ["y-0", "y-1"],
    });
  });
});

describe("pods with zonal pod affinity whose best zone has no room within the pool's limits", () => {
  it("go to another zone, in which some of them have room", () => {
    const affinity = {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE, labelSelector: WEB }],
      },
    };
    const labels = { app: "web" };
    const pods = ["a", "b"].map((name) => pod({ name, cpu: "1", labels, spec: { affinity } }));
    const types = [instanceType({ zones: ["zone-a"] })];
    const node = {
      labels: { [ZONE]: "zone-b" },
      allocatable: { cpu: "1", memory: "8Gi", pods: "9" },
    };
    const { existing, unschedulable } = solve(
      schedulingInput({
        pods,
        pools: [poolInput({ limits: { cpu: 500 } }, types)],
        nodes: [nodeView({ node })],
      }),
    );
    expect(existing.map((one) => one.pods.length)).toEqual([1]);
    expect(unschedulable).toHaveLength(1);
  });
});
