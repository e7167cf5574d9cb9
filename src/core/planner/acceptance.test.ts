import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import type { SchedulingResult } from "../provisioning/result.ts";
import { solve } from "../provisioning/solve.ts";
import { failureByPrice, minSavingOf, placesMore } from "./acceptance.ts";
import { planBatch } from "./plan-batch.ts";
import { DEFAULT_PLANNER } from "./planner-options.ts";

const pods = (count: number, cpu = "1800m") =>
  Array.from({ length: count }, (_, at) => pod({ name: `p-${at}`, cpu, memory: "1Gi" }));

/** The number of pods on new nodes of each NodePool, by the name of the NodePool. */
function shares({ newClaims }: ReturnType<typeof solve>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const claim of newClaims)
    counts[claim.pool.name] = (counts[claim.pool.name] ?? 0) + claim.pods.length;
  return counts;
}

describe("a cheaper plan", () => {
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
  ])("keeps on a heavier pool of %i cores its share of %i pods", (cores, count) => {
    const heavy = poolInput({ name: "heavy", weight: 50, limits: { cpu: cores * 1_000 } }, dear);
    const one = schedulingInput({ pods: pods(count), pools: [heavy, light] });
    const byRules = shares(solve(one));
    expect(byRules["heavy"]).toBeGreaterThanOrEqual(Math.min(count, cores / 2));
    expect(shares(planBatch(one, DEFAULT_PLANNER))["heavy"]).toBe(byRules["heavy"]);
  });

  it("keeps the pods of a NodePool even if a Provisioner of equal weight is cheaper", () => {
    const young = poolInput({ name: "young", limits: { cpu: 64_000 } }, dear);
    const old = poolInput({ name: "old", generation: "alpha" }, cheap);
    const one = schedulingInput({ pods: pods(30), pools: [old, young] });
    const byRules = shares(solve(one));
    expect(byRules["young"]).toBeGreaterThan(0);
    expect(shares(planBatch(one, DEFAULT_PLANNER))["young"]).toBe(byRules["young"]);
  });

  it("puts a single pod on the cheaper of two NodePools of equal weight, whatever their names", () => {
    const [z, a] = [poolInput({ name: "z" }, dear), poolInput({ name: "a" }, cheap)];
    const one = schedulingInput({ pods: pods(1), pools: [z, a] });
    expect(shares(solve(one))).toEqual({ z: 1 });
    expect(shares(planBatch(one, DEFAULT_PLANNER))).toEqual({ a: 1 });
  });

  it("leaves a single pod on the heavier of two NodePools", () => {
    const heavy = poolInput({ name: "heavy", weight: 50 }, dear);
    const one = schedulingInput({ pods: pods(1), pools: [heavy, light] });
    expect(shares(planBatch(one, DEFAULT_PLANNER))).toEqual({ heavy: 1 });
  });

  it("keeps the pods of a heavier pool even if its types are burstable", () => {
    const burstable = { ...instanceType({ name: "t", cpu: 4 }), baseline: { cpu: 800 } };
    const heavy = poolInput({ name: "heavy", weight: 50 }, [burstable]);
    const one = schedulingInput({ pods: pods(6, "900m"), pools: [heavy, light] });
    expect(shares(planBatch(one, DEFAULT_PLANNER))).toEqual({ heavy: 6 });
  });
});

describe("the conditions for one plan to replace another", () => {
  interface Node {
    readonly price: number;
    readonly pods?: number;
    readonly weight?: number;
    readonly relaxed?: boolean;
  }
  const left = pods(3);
  /** A plan with these new nodes. The pods with the numbers in `unplaced` have no place. */
  const plan = (nodes: readonly Node[], ...unplaced: readonly number[]) =>
    ({
      newClaims: nodes.map(({ price, pods: count = 1, weight = 0, relaxed = false }) => ({
        ...{ cheapest: { priceMicroUsd: price }, pods: Array(count).fill({}) },
        ...{ pool: { weight, generation: "v1" }, minValuesRelaxed: relaxed },
      })),
      existing: [],
      unschedulable: unplaced.map((at) => ({ pod: left[at] })),
    }) as unknown as SchedulingResult;
  const failure = (found: SchedulingResult, known: SchedulingResult, nodeMicroUsdPerHour = 0) =>
    failureByPrice(found, known, 0.1, { nodeMicroUsdPerHour });

  it("require a lower price and the minimum saving", () => {
    const known = plan([{ price: 100 }]);
    expect(failure(plan([{ price: 100 }]), known)).toBe("costsLess");
    expect(failure(plan([{ price: 91 }]), known)).toBe("savesEnough");
    expect(failure(plan([{ price: 90 }]), known)).toBeUndefined();
  });

  it("include the fixed cost of each node", () => {
    const known = plan([{ price: 100 }]);
    const two = plan([{ price: 40 }, { price: 40 }]);
    expect([failure(two, known, 10), failure(two, known, 11)]).toEqual([undefined, "savesEnough"]);
    const dearer = plan([{ price: 79 }]);
    expect(failure(dearer, two, 10)).toBeUndefined();
    expect(failure(plan([{ price: 80 }]), two, 10)).toBe("costsLess");
  });

  it("require no more relaxed minValues, no lost places and the same pool weights", () => {
    const known = plan([{ price: 100, relaxed: true }], 0);
    expect(failure(plan([{ price: 50, relaxed: true }], 0), known)).toBeUndefined();
    const relaxed = { price: 20, relaxed: true };
    expect(failure(plan([relaxed, relaxed], 0), known)).toBe("relaxesNoMoreMinValues");
    expect(failure(plan([{ price: 50 }], 1), known)).toBe("placesNoPodLess");
    expect(failure(plan([{ price: 50 }], 0, 1), known)).toBe("placesNoPodLess");
    const heavy = plan([{ price: 100, pods: 2, weight: 5 }]);
    const [high, low] = [
      { price: 20, weight: 5 },
      { price: 20, weight: 1 },
    ];
    expect(failure(plan([high, low]), heavy)).toBe("keepsPoolWeights");
    expect(failure(plan([{ ...high, pods: 2 }, low]), heavy)).toBeUndefined();
  });

  it("do not apply if more pods get a place and none loses its place", () => {
    const known = plan([], 0, 1);
    expect(placesMore(plan([], 0), known)).toBe(true);
    expect([placesMore(plan([], 2), known), placesMore(known, known)]).toEqual([false, false]);
  });

  it("require no saving or the configured saving", () => {
    const asked = (saves: "anything" | "setting", minSaving: number) =>
      minSavingOf({ saves }, { ...DEFAULT_PLANNER, minSaving });
    expect([asked("anything", 0.02), asked("setting", 0.02)]).toEqual([0, 0.02]);
    expect([asked("anything", 0.3), asked("setting", 0.3)]).toEqual([0, 0.3]);
  });
});
