// The record names the source of each plan, the improvements, and the condition that a rejected plan failed.
import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import { type ConditionName, failureByPrice } from "./acceptance.ts";
import type { Heuristic, ImprovementName, SourceName } from "./heuristics.ts";
import { planBatch } from "./plan-batch.ts";
import { priceMicroUsd } from "./plan-price.ts";
import { DEFAULT_PLANNER, type PlannerOptions } from "./planner-options.ts";

type Input = ReturnType<typeof schedulingInput>;

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";
const LABELS = { app: "web" };
const PACKED = { ...DEFAULT_PLANNER, minPods: 1, minSaving: 0, nodeMicroUsdPerHour: 0 };

const sold = (name: string, cpu: number, zone: string, price: number) =>
  instanceType({ name, cpu, zones: [zone], capacityTypes: ["on-demand"], priceMicroUsd: price });
const spread = (app: string, maxSkew = 1) => ({
  topologySpreadConstraints: [
    {
      maxSkew,
      topologyKey: ZONE,
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: { app } },
    },
  ],
});
const pods = (count: number, cpu: string, spec = {}, name = "p") =>
  Array.from({ length: count }, (_, at) =>
    pod({ name: `${name}-${at}`, cpu, labels: LABELS, spec }),
  );
const inputOf = (all: Input["pods"], ...types: ReturnType<typeof instanceType>[]) =>
  schedulingInput({ pods: all, pools: [poolInput({}, types)] });

/** Zone-b has the cheapest small type, but no large type. */
const SMALL_IN_B = [
  sold("small-b", 4, "zone-b", 40_000),
  sold("small-c", 4, "zone-c", 41_000),
  sold("large-c", 16, "zone-c", 100_000),
];
/** The greedy rules use four small nodes. One large node in zone-c is cheaper. */
const ZONE_CLOSED = inputOf(pods(8, "1900m", spread("other")), ...SMALL_IN_B);
/** A node is planned in zone-c, although its pod does not require that zone. */
const OPENED = (() => {
  const arch = (value: string) => ({ nodeSelector: { "kubernetes.io/arch": value } });
  const huge = instanceType({
    name: "huge",
    cpu: 32,
    zones: ["zone-b", "zone-c"],
    capacityTypes: ["on-demand"],
    priceMicroUsd: 300_000,
  });
  const arm = { ...huge, labels: { ...huge.labels, "kubernetes.io/arch": ["arm64"] } };
  const plain = pod({ name: "plain", cpu: "25", spec: arch("arm64") });
  const all = [...pods(8, "1900m", { ...spread("other"), ...arch("amd64") }), plain];
  return inputOf(all, ...SMALL_IN_B, arm);
})();
/** A small node in zone-b gets a pod that needs a large one, which costs less in zone-c. */
const MOVED = inputOf(
  [
    pod({ name: "web", labels: LABELS, cpu: "2500m", spec: spread("other") }),
    pod({ name: "z", cpu: "1", memory: "20Gi" }),
  ],
  ...[
    ["small-b", 8, "zone-b", 100_000],
    ["small-c", 8, "zone-c", 110_000],
    ["large-b", 64, "zone-b", 420_000],
    ["large-c", 64, "zone-c", 400_000],
  ].map(([name, memoryGi, zone, price]) =>
    instanceType({
      name: String(name),
      memoryGi: Number(memoryGi),
      zones: [String(zone)],
      priceMicroUsd: Number(price),
    }),
  ),
);
const HOST_GROUP = (() => {
  const term = { topologyKey: HOSTNAME, labelSelector: { matchLabels: LABELS } };
  const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  const group = ["2", "300m", "300m", "300m", "300m"].map((cpu, at) =>
    pod({ name: `kin-${at}`, labels: LABELS, cpu, spec: { affinity: { podAffinity } } }),
  );
  return inputOf([...group, pod({ name: "between", cpu: "1500m" })], instanceType({ cpu: 4 }));
})();

/**
 * Nine small nodes are cheapest. The greedy rules plan one node and make it larger and more expensive with each pod.
 */
const SMALL_NODES = inputOf(
  pods(9, "3500m"),
  sold("small", 4, "zone-a", 40_000),
  sold("large", 32, "zone-a", 900_000),
);
/**
 * The limit allows one node, which is large enough for both pods only in one zone. The greedy rules choose the cheaper
 * zone.
 */
const ONE_NODE = schedulingInput({
  pods: pods(2, "3", spread("web", 2)),
  pools: [
    poolInput({ limits: { nodes: 1 } }, [
      sold("small", 4, "zone-b", 40_000),
      sold("large", 8, "zone-a", 100_000),
    ]),
  ],
});
/** One pod requests a GPU. The greedy rules put the other pods on its node, which becomes one large node at `price`. */
const dearWish = (price: number) => {
  const gpu = (cpu: number, priceMicroUsd: number) =>
    instanceType({
      name: `g-${cpu}`,
      cpu,
      capacity: { gpu: 1 },
      priceMicroUsd,
      zones: ["zone-a"],
      capacityTypes: ["on-demand"],
    });
  const wish = pod({ name: "wish", cpu: "1", requests: { gpu: "1" } });
  const plain = sold("plain", 4, "zone-a", 40_000);
  return inputOf([wish, ...pods(4, "1800m")], gpu(4, 300_000), gpu(16, price), plain);
};
/** Only the NodePool of lower weight has GPUs. Its types are one with one GPU and one with four. */
const TWO_POOLS = (() => {
  const gpus = (name: string, cpu: number, count: number, priceMicroUsd: number) =>
    instanceType({
      name,
      cpu,
      capacity: { gpu: count },
      priceMicroUsd,
      zones: ["zone-a"],
      capacityTypes: ["on-demand"],
    });
  const heavy = [sold("c-4", 4, "zone-a", 100_000), sold("c-8", 8, "zone-a", 200_000)];
  const light = [gpus("g-1", 4, 1, 500_000), gpus("g-4", 16, 4, 4_000_000)];
  const wish = (name: string) => pod({ name, cpu: "1", requests: { gpu: "1" } });
  const [large, small] = [pod({ name: "large", cpu: "3500m" }), pod({ name: "s", cpu: "600m" })];
  return schedulingInput({
    pods: [large, wish("gpu-0"), wish("gpu-1"), small],
    pools: [poolInput({ name: "heavy", weight: 50 }, heavy), poolInput({ name: "light" }, light)],
  });
})();
/** Pods of team blue may lose their planned room: small pods that may also run on the green node can take it. */
const STRANDED = (() => {
  const team = (name: string) => ({ nodeSelector: { team: name } });
  const pool = (name: string, types: ReturnType<typeof instanceType>[]) =>
    poolInput({ id: `v1/${name}`, name, labels: { team: name } }, types);
  const blue = [sold("m-8", 8, "zone-a", 100_000), sold("m-16", 16, "zone-a", 380_000)];
  return schedulingInput({
    pods: [...pods(2, "3", team("blue"), "blue"), ...pods(3, "800m", {}, "small")],
    pools: [pool("blue", blue), pool("green", [sold("m-2", 2, "zone-a", 20_000)])],
  });
})();

/** The input, the options, and the source and improvements of the plan that is chosen. */
type Winner = readonly [Input, PlannerOptions, SourceName, readonly ImprovementName[]];

const WINNERS: readonly Winner[] = [
  [inputOf(pods(1, "1"), instanceType({ cpu: 4 })), DEFAULT_PLANNER, "greedy", []],
  [SMALL_NODES, PACKED, "packing", []],
  [ONE_NODE, DEFAULT_PLANNER, "upstreamGreedy", []],
  [dearWish(2_000_000), DEFAULT_PLANNER, "cheapestNode", []],
  [ZONE_CLOSED, DEFAULT_PLANNER, "cheapestNodeWithoutZone", ["openZones"]],
  [TWO_POOLS, DEFAULT_PLANNER, "greedy", ["dropNode"]],
  [MOVED, DEFAULT_PLANNER, "greedy", ["moveNode"]],
];

/** The condition that rejects a plan, the input, the options, and the source of the rejected plan. */
type Rejected = readonly [ConditionName, Input, PlannerOptions, SourceName];

const REJECTED: readonly Rejected[] = [
  ["costsLess", ZONE_CLOSED, DEFAULT_PLANNER, "upstreamGreedy"],
  ["savesEnough", dearWish(425_000), DEFAULT_PLANNER, "cheapestNode"],
  ["placesNoPodLess", ONE_NODE, DEFAULT_PLANNER, "cheapestNode"],
  ["keepsPoolWeights", TWO_POOLS, DEFAULT_PLANNER, "cheapestNode"],
  [
    "strandsNoMorePods",
    STRANDED,
    { ...DEFAULT_PLANNER, nodeMicroUsdPerHour: 162_000 },
    "cheapestNode",
  ],
];

describe("the record of a plan", () => {
  it.each(WINNERS)("names the source and the improvements (%#)", (input, options, source, by) => {
    const { planner, newClaims } = planBatch(input, options);
    expect(planner).toMatchObject({ source, improvements: by });
    // The last accepted plan must be the result.
    const accepted = planner?.considered.filter((one) => one.rejectedBy === undefined).at(-1);
    expect(accepted?.microUsdPerHour).toBe(priceMicroUsd({ newClaims }));
  });

  it.each(REJECTED)("names the condition %s", (rejectedBy, input, options, source) => {
    const { planner } = planBatch(input, options);
    expect(planner?.considered).toContainEqual(expect.objectContaining({ source, rejectedBy }));
  });

  it("names the condition relaxesNoMoreMinValues", () => {
    const [claim] = planBatch(SMALL_NODES, PACKED).newClaims;
    if (claim === undefined) throw new Error("the plan has nodes");
    const plan = (priceMicroUsd: number, minValuesRelaxed: boolean) => {
      const cheapest = { ...claim.cheapest, priceMicroUsd };
      const newClaims = [{ ...claim, cheapest, minValuesRelaxed }];
      return { newClaims, existing: [], unschedulable: [] } as unknown as SchedulingResult;
    };
    const failureOf = (isRelaxed: boolean) =>
      failureByPrice(plan(1, isRelaxed), plan(2, false), 0, PACKED);
    expect([failureOf(true), failureOf(false)]).toEqual(["relaxesNoMoreMinValues", undefined]);
  });

  it("says that host groups were placed first", () => {
    expect(planBatch(HOST_GROUP, DEFAULT_PLANNER).planner?.hostGroupsFirst).toBe(true);
  });
});

const NEEDED: readonly (readonly [Heuristic, Input, PlannerOptions])[] = [
  ["packing", SMALL_NODES, { ...PACKED, without: new Set(["cheapestNode"]) }],
  ["upstreamGreedy", ONE_NODE, DEFAULT_PLANNER],
  ["cheapestNode", dearWish(2_000_000), DEFAULT_PLANNER],
  ["cheapestNodeWithoutZone", ZONE_CLOSED, DEFAULT_PLANNER],
  ["hostGroupsFirst", HOST_GROUP, DEFAULT_PLANNER],
  ["dropNode", TWO_POOLS, DEFAULT_PLANNER],
  ["moveNode", MOVED, DEFAULT_PLANNER],
];

it.each(NEEDED)("%s places more pods or costs less", (heuristic, input, options) => {
  const outcome = (without: readonly Heuristic[]) => {
    const all = new Set([...(options.without ?? []), ...without]);
    const plan = planBatch(input, { ...options, without: all });
    return { pending: plan.unschedulable.length, price: priceMicroUsd(plan) };
  };
  const [used, leftOut] = [outcome([]), outcome([heuristic])];
  if (used.pending === leftOut.pending) expect(used.price).toBeLessThan(leftOut.price);
  else expect(used.pending).toBeLessThan(leftOut.pending);
});

it("openZones lets a node be launched in a zone that was closed for other nodes", () => {
  const zonesOf = (options: PlannerOptions) =>
    planBatch(OPENED, options)
      .newClaims.find(({ cheapest }) => cheapest.instanceType === "huge")
      ?.requirements.filter(({ key }) => key === ZONE);
  expect(zonesOf(DEFAULT_PLANNER)).toEqual([]);
  expect(zonesOf({ ...DEFAULT_PLANNER, without: new Set(["openZones"]) })).not.toEqual([]);
});
