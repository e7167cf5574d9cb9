import { expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { planBatch } from "./plan-batch.ts";
import { DEFAULT_PLANNER } from "./planner-options.ts";

const offering = (priceMicroUsd: number) => ({
  zone: "zone-a",
  capacityType: "on-demand" as const,
  priceMicroUsd,
  available: true,
});
const TYPES = [
  instanceType({ name: "small", cpu: 2, offerings: [offering(100_000)] }),
  instanceType({ name: "large", cpu: 8, offerings: [offering(200_000)] }),
];

function planned(cpu: number, pods = 3) {
  const batch = Array.from({ length: pods }, (_, at) => pod({ name: `p-${at}`, cpu: "2" }));
  const pools = [poolInput({ limits: { cpu: cpu * 1_000 } }, TYPES)];
  return planBatch(schedulingInput({ pods: batch, pools }), DEFAULT_PLANNER);
}

it("the cost of limits is what a plan would cost less without the NodePool's limits", () => {
  const { newClaims, limitCost } = planned(6);
  expect(newClaims.map(({ cheapest }) => cheapest.instanceType)).toEqual(Array(3).fill("small"));
  expect(limitCost).toEqual({ poolIds: [newClaims[0]?.pool.id], microUsdPerHour: 100_000 });
});

it("the cost of limits is undefined if they leave room, or keep pods pending", () => {
  expect(planned(8).limitCost).toBeUndefined();
  expect(planned(100).limitCost).toBeUndefined();
  const short = planned(4);
  expect(short.unschedulable).toHaveLength(1);
  expect(short.limitCost).toBeUndefined();
});

it("the cost of limits is undefined if other nodes within the limits cost the same", () => {
  // Five small nodes cost 500_000. The greedy rules open one large node first, and their plan costs 650_000.
  const types = [
    instanceType({ name: "one", cpu: 1, offerings: [offering(100_000)] }),
    instanceType({ name: "four", cpu: 4, offerings: [offering(550_000)] }),
    instanceType({ name: "eight", cpu: 8, offerings: [offering(1_000_000)] }),
  ];
  const pods = Array.from({ length: 5 }, (_, at) => pod({ name: `p-${at}`, cpu: "1" }));
  const within = (cpu: number) => {
    const pools = [poolInput({ limits: { cpu: cpu * 1_000 } }, types)];
    return planBatch(schedulingInput({ pods, pools }), DEFAULT_PLANNER);
  };
  for (const cpu of [5, 6, 7, 8, 100]) {
    const { newClaims, unschedulable, limitCost } = within(cpu);
    expect(unschedulable).toEqual([]);
    expect(newClaims.map(({ cheapest }) => cheapest.instanceType)).toEqual(Array(5).fill("one"));
    expect(limitCost).toBeUndefined();
  }
});
