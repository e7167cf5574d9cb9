import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import { solve } from "../../provisioning/solve.ts";
import { planBatch } from "../plan-batch.ts";
import { DEFAULT_PLANNER } from "../planner-options.ts";

const pods = (count: number) =>
  Array.from({ length: count }, (_, at) => pod({ name: `p-${at}`, cpu: "1800m", memory: "1Gi" }));
const poolsOf = ({ newClaims }: ReturnType<typeof solve>) => [
  ...new Set(newClaims.map(({ pool }) => pool.name)),
];

describe("of pools that only their names tell apart", () => {
  const od = (cpu: number) =>
    instanceType({ name: `od-${cpu}`, cpu, capacityTypes: ["on-demand"] });
  const spot = (cpu: number) => instanceType({ name: `spot-${cpu}`, cpu, capacityTypes: ["spot"] });
  const sizes = [2, 4, 8, 16];
  const [dear, cheap] = [
    poolInput({ name: "z" }, sizes.map(od)),
    poolInput({ name: "a" }, sizes.map(spot)),
  ];

  it.each([30, 150, 1_200])("takes the cheaper one, of %i pods", (count) => {
    const one = schedulingInput({ pods: pods(count), pools: [dear, cheap] });
    expect(poolsOf(solve(one))).toEqual(["z"]);
    expect(poolsOf(planBatch(one, DEFAULT_PLANNER))).toEqual(["a"]);
  });
});
