import { describe, expect, it } from "vitest";
import { atOnce } from "../../../base/steps.ts";
import { instanceType, pod, pods, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import { planBatchInSteps } from "../../planner/plan-batch.ts";
import { GREEDY_PLANNER } from "../../planner/planner-options.ts";

function offering(capacityType: Offering["capacityType"], cost: number, id?: string): Offering {
  return {
    ...{ zone: "zone-a", capacityType, priceMicroUsd: cost, available: true },
    ...(id === undefined ? {} : { quota: { id, units: 4 } }),
  };
}

const BOTH = [offering("spot", 10, "spot"), offering("on-demand", 30, "usual")];
const large = pod({ name: "large", cpu: "3" });

function planned(
  offerings: readonly Offering[],
  room: Readonly<Record<string, number>>,
  batch = pods(5, { name: "p", cpu: "3" }),
) {
  const pools = [poolInput({}, [instanceType({ cpu: 4, offerings })])];
  const input = schedulingInput({ pods: batch, pools, quotaRoom: new Map(Object.entries(room)) });
  const { newClaims, unschedulable } = atOnce(planBatchInSteps(input, GREEDY_PLANNER));
  return { claims: newClaims.length, left: unschedulable };
}

describe("new nodes under quotas", () => {
  it("are limited to the quota, and the refusals of the other pods name it", () => {
    const { claims, left } = planned([offering("on-demand", 30, "usual")], { usual: 11 });
    expect([claims, left.length]).toEqual([2, 3]);
    expect(new Set(left.map(({ message }) => message))).toEqual(
      new Set(["other new nodes need what is left of quota usual"]),
    );
  });

  it("count against every quota of their offerings", () => {
    const { claims, left } = planned(BOTH, { spot: 4, usual: 8 });
    expect([claims, left.length]).toEqual([3, 2]);
    expect(left[0]?.message).toBe("other new nodes need what is left of quotas spot, usual");
  });

  it("are not limited by unknown quotas, or without a quota for their offerings", () => {
    expect(planned(BOTH, {}).claims).toBe(5);
    expect(planned(BOTH, { other: 0 }).claims).toBe(5);
    expect(planned([offering("on-demand", 30)], { usual: 0 }).claims).toBe(5);
  });

  it("go to pods of higher priority first", () => {
    const urgent = { ...large, spec: { ...large.spec, priority: 100 } };
    const batch = [...pods(3, { name: "a", cpu: "3" }), urgent];
    const { claims, left } = planned([offering("on-demand", 30, "usual")], { usual: 4 }, batch);
    expect([claims, left.length]).toEqual([1, 3]);
    expect(left.map(({ pod: { metadata } }) => metadata.name)).not.toContain("large");
  });
});
