import { describe, expect, it } from "vitest";
import type { Pod } from "../../apis/core/pod.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import type { SchedulingInput } from "../../core/provisioning/scheduling-input.ts";
import { risksOf } from "./risks.ts";

function pod(name: string, owner?: { kind: string; name: string }, hash?: string): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "shop",
      ...(hash === undefined ? {} : { labels: { "pod-template-hash": hash } }),
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: "apps/v1", uid: "", controller: true, ...owner }] }),
    },
    spec: { containers: [] },
  } as unknown as Pod;
}

const web = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    pod(`web-${n}`, { kind: "ReplicaSet", name: "web-1" }, "1"),
  );

type Launch = readonly [capacityType: string, zone: string, pods: readonly Pod[]];

function risks(launches: readonly Launch[], running: readonly Launch[] = []) {
  const newClaims = launches.map(([capacityType, zone, pods]) => ({
    pods,
    requirements: [],
    cheapest: { capacityType, zone },
  }));
  const nodes = running.map(([capacityType, zone, pods], index) => ({
    name: `n${index}`,
    deleting: false,
    labels: { "topology.kubernetes.io/zone": zone, "karpenter.sh/capacity-type": capacityType },
    pods,
  }));
  const result = { newClaims, existing: [], unschedulable: [] } as unknown as SchedulingResult;
  return risksOf({ nodes } as unknown as SchedulingInput, result).map(({ code, workloads }) => [
    code,
    ...workloads,
  ]);
}

describe("risks of a plan", () => {
  it("are reported for many replicas on one spot node, for one replica on spot, and for all replicas in one zone", () => {
    expect(risks([["spot", "a", web(300)]])).toEqual([["oneSpotNode", "Deployment shop/web"]]);
    expect(risks([["spot", "a", [pod("once")]]])).toEqual([
      ["singleReplicaOnSpot", "Pod shop/once"],
    ]);
    const [first, ...others] = web(3);
    expect(
      risks([
        ["on-demand", "a", [first as Pod]],
        ["on-demand", "a", others],
      ]),
    ).toEqual([["oneZone", "Deployment shop/web"]]);
  });

  it("are reported if most replicas are on one spot node, but not if one half of them is", () => {
    const pods = web(300);
    const onSpot = (count: number) =>
      risks([
        ["spot", "a", pods.slice(0, count)],
        ["spot", "b", pods.slice(count)],
      ]);
    expect(onSpot(151)).toEqual([["mostOnOneSpotNode", "Deployment shop/web"]]);
    expect(onSpot(150)).toEqual([]);
    const onDemand = risks([
      ["on-demand", "a", pods.slice(0, 200)],
      ["spot", "b", pods.slice(200)],
    ]);
    expect(onDemand).toEqual([]);
  });

  it("are not reported for replicas on one on-demand node, over two zones, or of Jobs", () => {
    expect(risks([["on-demand", "a", web(2)]])).toEqual([]);
    expect(risks([["on-demand", "a", [pod("once")]]])).toEqual([]);
    const [first, second] = web(2) as [Pod, Pod];
    expect(
      risks([
        ["spot", "a", [first]],
        ["spot", "b", [second]],
      ]),
    ).toEqual([]);
    expect(risks([["spot", "a", [pod("job-0", { kind: "Job", name: "job" })]]])).toEqual([]);
  });

  it("count running replicas too, and leave out workloads that the plan does not change", () => {
    const [first, second] = web(2) as [Pod, Pod];
    expect(risks([["spot", "a", [first]]], [["on-demand", "b", [second]]])).toEqual([]);
    expect(risks([], [["spot", "a", web(2)]])).toEqual([]);
  });

  it("name three workloads and count the others", () => {
    const pods = ["a", "b", "c", "d", "e"].map((name) => pod(name));
    const input = { nodes: [] } as unknown as SchedulingInput;
    const result = {
      newClaims: [{ pods, requirements: [], cheapest: { capacityType: "spot", zone: "a" } }],
      existing: [],
      unschedulable: [],
    } as unknown as SchedulingResult;
    expect(risksOf(input, result)[0]?.text).toContain(
      ": Pod shop/a, Pod shop/b, Pod shop/c and 2 more; ",
    );
  });
});

it("a workload on Windows nodes that selects no operating system is a risk", () => {
  const told = (values: readonly string[], ...pods: readonly Pod[]) => {
    const requirements = [{ key: "kubernetes.io/os", operator: "In", values }];
    const newClaims = [{ pods, requirements, cheapest: { capacityType: "on-demand", zone: "a" } }];
    const result = { newClaims, existing: [], unschedulable: [] } as unknown as SchedulingResult;
    return risksOf({ nodes: [] } as unknown as SchedulingInput, result).map(({ text }) => text);
  };
  const plain = pod("plain");
  const selects = { "kubernetes.io/os": "windows" };
  const iis = { ...pod("iis"), spec: { containers: [], nodeSelector: selects } } as unknown as Pod;
  expect(told(["windows"], plain, iis)).toEqual([
    "planned on Windows nodes, though they select no operating system: Pod shop/plain; set kubernetes.io/os in their nodeSelector, or taint the NodePool",
  ]);
  expect(told(["linux"], plain)).toEqual([]);
  expect(told(["windows"], iis)).toEqual([]);
  const named = { ...plain, spec: { ...plain.spec, os: { name: "windows" } } } as Pod;
  expect(told(["windows"], named)).toEqual([]);
});
