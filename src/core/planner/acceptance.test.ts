import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { solve } from "../provisioning/solve.ts";
import { planBatch } from "./plan-batch.ts";
import { DEFAULT_PLANNER } from "./planner-options.ts";

const pods = (count: number, cpu = "1800m") =>
  Array.from({ length: count }, (_, at) => pod({ name: `p-${at}`, cpu, memory: "1Gi" }));

/** Pool → its pods. */
function shares({ newClaims }: ReturnType<typeof solve>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const claim of newClaims)
    counts[claim.pool.name] = (counts[claim.pool.name] ?? 0) + claim.pods.length;
  return counts;
}

describe("a plan that costs less", () => {
  const cheap = [2, 4, 8, 16].map((cpu) => instanceType({ cpu, priceMicroUsd: cpu * 15_000 }));
  const dear = [2, 4, 8, 16].map((cpu) =>
    instanceType({ name: `dear-${cpu}`, cpu, capacityTypes: ["on-demand"] }),
  );
  const light = poolInput({ name: "light", weight: 1 }, cheap);

  it.each([
    [16, 8],
    [64, 30],
    [160, 90],
    [160, 150],
  ])("leaves a heavier pool of %i cores its pods, of %i", (cores, count) => {
    const heavy = poolInput({ name: "heavy", weight: 50, limits: { cpu: cores * 1_000 } }, dear);
    const one = schedulingInput({ pods: pods(count), pools: [heavy, light] });
    const byRules = shares(solve(one));
    expect(byRules["heavy"]).toBeGreaterThanOrEqual(Math.min(count, cores / 2));
    expect(shares(planBatch(one, DEFAULT_PLANNER))["heavy"]).toBe(byRules["heavy"]);
  });

  it("leaves a NodePool its pods where a Provisioner that is as heavy would be cheaper", () => {
    const young = poolInput({ name: "young", limits: { cpu: 64_000 } }, dear);
    const old = poolInput({ name: "old", generation: "alpha" }, cheap);
    const one = schedulingInput({ pods: pods(30), pools: [old, young] });
    const byRules = shares(solve(one));
    expect(byRules["young"]).toBeGreaterThan(0);
    expect(shares(planBatch(one, DEFAULT_PLANNER))["young"]).toBe(byRules["young"]);
  });

  it("leaves them to it where its types live on credits", () => {
    const burstable = { ...instanceType({ name: "t", cpu: 4 }), baseline: { cpu: 800 } };
    const heavy = poolInput({ name: "heavy", weight: 50 }, [burstable]);
    const one = schedulingInput({ pods: pods(6, "900m"), pools: [heavy, light] });
    expect(shares(planBatch(one, DEFAULT_PLANNER))).toEqual({ heavy: 6 });
  });
});
