import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { improvedBy } from "../../../testing/planner.ts";
import type { SchedulingResult } from "../../provisioning/result.ts";
import { prepare, solve } from "../../provisioning/solve.ts";
import { planBatch } from "../plan-batch.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";
import { dropNode } from "./drop-node.ts";

/** Options under which every batch is large enough to be packed. */
const OPTIONS = { ...DEFAULT_PLANNER, minPods: 1 };

const ZONE = "topology.kubernetes.io/zone";
const labels = { app: "web" };
const spec = {
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: "DoNotSchedule" as const,
      labelSelector: { matchLabels: labels },
    },
  ],
};
/** One pod for each zone, and two pods without rules. The two have room on the nodes of the other three. */
const PODS = [
  ...["w-0", "w-1", "w-2"].map((name) => pod({ name, labels, cpu: "2", spec })),
  ...["o-0", "o-1"].map((name) => pod({ name, cpu: "1" })),
];

/**
 * The plan that the greedy rules would have made with one node too many: the last two pods have a node of their own.
 */
function withOneTooMany(types = [instanceType({ cpu: 4 })]) {
  const input = schedulingInput({ pods: PODS, pools: [poolInput({}, types)] });
  const alone = (names: readonly string[]) =>
    solve({ ...input, pods: PODS.filter(({ metadata }) => names.includes(metadata.name)) });
  const spread = alone(["w-0", "w-1", "w-2"]);
  const plan = { ...spread, newClaims: [...spread.newClaims, ...alone(["o-0", "o-1"]).newClaims] };
  return { batch: atOnce(prepare(input)), plan };
}

it("drops a node whose pods fit on the other planned nodes, which stay in their zones", () => {
  const { batch, plan } = withOneTooMany();
  expect(plan.newClaims.length).toBe(4);
  const better = improvedBy(dropNode, batch, plan, OPTIONS);
  expect(better.unschedulable).toEqual([]);
  expect(better.newClaims.length).toBe(3);
  expect(priceMicroUsd(better)).toBe((priceMicroUsd(plan) * 3) / 4);
  const zones = (claims: SchedulingResult["newClaims"]) =>
    claims
      .filter(({ pods }) => pods.some(({ metadata }) => metadata.name.startsWith("w")))
      .map(({ cheapest }) => cheapest.zone)
      .sort();
  expect(zones(better.newClaims)).toEqual(zones(plan.newClaims));
});

it("keeps a plan if the saving is too small, or the other nodes are burstable", () => {
  const { batch, plan } = withOneTooMany();
  const asksForMuch = { ...OPTIONS, minSaving: 0.5 };
  expect(improvedBy(dropNode, batch, plan, asksForMuch)).toBe(plan);
  const burstable = withOneTooMany([{ ...instanceType({ cpu: 4 }), baseline: { cpu: 2_000 } }]);
  expect(improvedBy(dropNode, burstable.batch, burstable.plan, OPTIONS)).toBe(burstable.plan);
});

it("gives equal plans for equal batches, and leaves the batch as it was", () => {
  const { batch, plan } = withOneTooMany();
  const first = improvedBy(dropNode, batch, plan, OPTIONS);
  expect(improvedBy(dropNode, batch, plan, OPTIONS)).toEqual(first);
});

describe("a batch that is not packed", () => {
  const GPU = "nvidia.com/gpu";
  const sold = (name: string, cpu: number, priceMicroUsd: number, gpus: number) =>
    instanceType({
      name,
      cpu,
      zones: ["zone-a"],
      capacityTypes: ["on-demand"],
      priceMicroUsd,
      ...(gpus === 0 ? {} : { capacity: { [GPU]: gpus } }),
    });
  const heavy = poolInput({ name: "heavy", weight: 50 }, [
    sold("c-4", 4, 100_000, 0),
    sold("c-8", 8, 200_000, 0),
  ]);
  const gpu = (name: string) => pod({ name, cpu: "1", requests: { [GPU]: "1" } });
  const pods = [
    pod({ name: "large", cpu: "3500m" }),
    gpu("gpu-0"),
    gpu("gpu-1"),
    pod({ name: "small", cpu: "600m" }),
  ];
  const planOf = (twoGpus: number) => {
    const light = poolInput({ name: "light" }, [
      sold("g-1", 4, 500_000, 1),
      sold("g-4", 16, twoGpus, 4),
    ]);
    return planBatch(schedulingInput({ pods, pools: [heavy, light] }), DEFAULT_PLANNER);
  };

  it("replaces an expensive node by two others, and keeps the weights of NodePools", () => {
    const { newClaims, planner } = planOf(4_000_000);
    expect(newClaims.map(({ cheapest }) => cheapest.instanceType).sort()).toEqual([
      "c-8",
      "g-1",
      "g-1",
    ]);
    expect(planner).toMatchObject({ source: "greedy", improvements: ["dropNode"] });
    // By price alone, the small pod would go to a node of the NodePool with lower weight.
    expect(planner?.considered).toContainEqual({
      source: "cheapestNode",
      microUsdPerHour: 1_100_000,
      pending: 0,
      rejectedBy: "keepsPoolWeights",
    });
  });

  it("keeps one node if two would save less than the setting says, in a batch of any size", () => {
    expect(planOf(1_030_000).newClaims.length).toBe(2);
    expect(planOf(1_200_000).newClaims.length).toBe(3);
  });
});
