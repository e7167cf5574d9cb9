import { describe, expect, it } from "vitest";
import { WELL_KNOWN_LABELS } from "../../../apis/karpenter/labels.ts";
import type { Resources } from "../../../apis/resources.ts";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { createTemplate } from "../../provisioning/pools/pool-template.ts";
import { solve } from "../../provisioning/solve.ts";
import { RequirementSpace } from "../../scheduling/requirement-space.ts";
import { Requirements } from "../../scheduling/requirements.ts";
import { planBatch } from "../plan-batch.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";
import { PoolPriceFloors } from "./pool-price-floors.ts";

const pods = (count: number) =>
  Array.from({ length: count }, (_, at) => pod({ name: `p-${at}`, cpu: "1800m", memory: "1Gi" }));
const poolsOf = ({ newClaims }: ReturnType<typeof solve>) => [
  ...new Set(newClaims.map(({ pool }) => pool.name)),
];

describe("pools of equal weight that differ in price", () => {
  const od = (cpu: number) =>
    instanceType({ name: `od-${cpu}`, cpu, capacityTypes: ["on-demand"] });
  const spot = (cpu: number) => instanceType({ name: `spot-${cpu}`, cpu, capacityTypes: ["spot"] });
  const sizes = [2, 4, 8, 16];
  const [dear, cheap] = [
    poolInput({ name: "z" }, sizes.map(od)),
    poolInput({ name: "a" }, sizes.map(spot)),
  ];

  it.each([30, 150, 1_200])("are filled from the cheaper one, with %i pods", (count) => {
    const one = schedulingInput({ pods: pods(count), pools: [dear, cheap] });
    expect(poolsOf(solve(one))).toEqual(["z"]);
    expect(poolsOf(planBatch(one, DEFAULT_PLANNER))).toEqual(["a"]);
  });
});

describe("the price floor of pods in a pool", () => {
  const GIB = 2 ** 30;
  const space = new RequirementSpace(new Set(WELL_KNOWN_LABELS));
  // 0.10 $ for 2 cpu and 8 GiB. The large type costs twice as much for each cpu, and half as much for each GiB.
  const small = instanceType({ name: "small", cpu: 2, priceMicroUsd: 100_000 });
  const large = instanceType({ name: "large", cpu: 2, memoryGi: 32, priceMicroUsd: 200_000 });
  const template = (index: number, name: string) =>
    createTemplate(poolInput({ name }, [name === "both" ? small : large, large]), index, space, []);
  const [both, large2] = [template(0, "both"), template(1, "large")];
  const prices = new PoolPriceFloors(space);
  const under = (of: typeof both, specs: readonly object[] = []) =>
    space.join(of.set, space.intern(Requirements.fromSpecs(specs as never))) as number;
  const onDemand = [{ key: "karpenter.sh/capacity-type", operator: "In", values: ["on-demand"] }];

  it.each<[string, typeof both, readonly object[], Resources, number]>([
    ["spot, by cpu", both, [], { cpu: 1_000 }, 35_000],
    ["spot, by memory", both, [], { cpu: 1, memory: 8 * GIB }, 35_000],
    ["on-demand, by cpu", both, onDemand, { cpu: 1_000 }, 50_000],
    ["on-demand, by memory", both, onDemand, { memory: 8 * GIB }, 50_000],
    ["another pool", large2, [], { cpu: 1_000 }, 70_000],
    ["another pool, on-demand", large2, onDemand, { cpu: 1_000 }, 100_000],
  ])("depends on pool, requirements and requests: %s", (_, of, specs, requests, price) => {
    for (const _again of [1, 2]) expect(prices.of(of, under(of, specs), requests)).toBe(price);
  });
});
