import { expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../../provisioning/solve.ts";
import { planBatch } from "../plan-batch.ts";
import { priceMicroUsd } from "../plan-price.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";

const GPU = "nvidia.com/gpu";
const sold = (name: string, cpu: number, price: number, gpus = 0) =>
  instanceType({
    name,
    cpu,
    zones: ["zone-a"],
    capacityTypes: ["on-demand"],
    priceMicroUsd: price,
    ...(gpus === 0 ? {} : { capacity: { [GPU]: gpus } }),
  });

it("puts weights before prices where prices alone would take pods from a heavier NodePool", () => {
  const heavy = poolInput({ name: "heavy", weight: 50 }, [
    sold("c-4", 4, 100_000),
    sold("c-8", 8, 200_000),
  ]);
  const light = poolInput({ name: "light" }, [
    sold("g-1", 4, 500_000, 1),
    sold("g-4", 16, 4_000_000, 4),
  ]);
  const gpu = (name: string) => pod({ name, cpu: "1", requests: { [GPU]: "1" } });
  const pods = [
    pod({ name: "large", cpu: "3500m" }),
    gpu("gpu-0"),
    gpu("gpu-1"),
    pod({ name: "small", cpu: "600m" }),
  ];
  const input = schedulingInput({ pods, pools: [heavy, light] });
  // The greedy rules put both GPU pods on one dear node.
  expect(priceMicroUsd(solve(input))).toBe(4_200_000);
  const plan = planBatch(input, DEFAULT_PLANNER);
  expect(priceMicroUsd(plan)).toBe(1_200_000);
  const inHeavy = plan.newClaims.filter(({ pool }) => pool.name === "heavy");
  expect(inHeavy.flatMap((claim) => claim.pods.map(({ metadata }) => metadata.name))).toEqual([
    "large",
    "small",
  ]);
  expect(plan.planner?.source).toBe("cheapestNodeByWeight");
  expect(plan.planner?.considered).toContainEqual({
    source: "cheapestNode",
    microUsdPerHour: 1_100_000,
    pending: 0,
    rejectedBy: "keepsPoolWeights",
  });
});
