import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../testing/builders.ts";
import { planBatch } from "../planner/plan-batch.ts";
import { GREEDY_PLANNER } from "../planner/planner-options.ts";
import { solve } from "../provisioning/solve.ts";
import { MOST_PASSES, playPasses } from "./planning-passes.ts";

const RESERVATION = "karpenter.sh/reservation-id";

/** Reservations with these numbers of units, each in its own zone. */
function reserved(units: readonly number[]) {
  const offerings = units.map((reservationCapacity, index) => ({
    ...{ zone: `zone-${index}`, capacityType: "reserved" as const, available: true },
    ...{ priceMicroUsd: 0, reservationCapacity, labels: { [RESERVATION]: `cr-${index}` } },
  }));
  return instanceType({ name: "c-2x", cpu: 2, offerings });
}

function pods(count: number) {
  return Array.from({ length: count }, (_, index) => pod({ name: `p-${index}`, cpu: "1500m" }));
}

function inputFor(type: ReturnType<typeof reserved>, some: ReturnType<typeof pods>) {
  const { options, ...rest } = schedulingInput({ pods: some, pools: [poolInput({}, [type])] });
  return { ...rest, options: { ...options, wellKnownLabels: [RESERVATION] } };
}

describe("simulated planning passes", () => {
  it("use each unit of a reservation once", () => {
    const { result, passes, isSettled } = playPasses(inputFor(reserved([1, 1, 2]), pods(6)), solve);
    expect(result.newClaims.map(({ cheapest }) => cheapest.zone).sort()).toEqual([
      "zone-0",
      "zone-1",
      "zone-2",
      "zone-2",
    ]);
    expect(result.unschedulable).toHaveLength(2);
    expect(result.unschedulable.some(({ deferred }) => deferred)).toBe(false);
    expect({ passes, isSettled }).toEqual({ passes: 3, isSettled: true });
  });

  it("need one pass if all pods have a place at once", () => {
    const offerings = [
      {
        ...{ zone: "zone-a", capacityType: "on-demand" as const },
        ...{ available: true, priceMicroUsd: 1 },
      },
    ];
    const input = inputFor(instanceType({ name: "c-2x", cpu: 2, offerings }), pods(3));
    expect(playPasses(input, solve)).toEqual({
      result: solve(input),
      passes: 1,
      isSettled: true,
    });
  });

  it("use the room under a quota once", () => {
    const reservation = {
      zone: "zone-r",
      capacityType: "reserved" as const,
      reservationCapacity: 1,
    };
    const bought = { zone: "zone-a", capacityType: "on-demand" as const };
    const offerings = [
      { ...reservation, available: true, priceMicroUsd: 0, labels: { [RESERVATION]: "cr-1" } },
      { ...bought, available: true, priceMicroUsd: 1, quota: { id: "usual", units: 2 } },
    ];
    const type = instanceType({ name: "c-2x", cpu: 2, offerings });
    const input = { ...inputFor(type, pods(6)), quotaRoom: new Map([["usual", 4]]) };
    const { result } = playPasses(input, (seen) => planBatch(seen, GREEDY_PLANNER));
    expect(result.newClaims).toHaveLength(3);
    expect(result.unschedulable).toHaveLength(3);
  });

  it("stop after a maximum number, and say so", () => {
    const many = Array.from({ length: MOST_PASSES + 5 }, () => 1);
    const played = playPasses(inputFor(reserved(many), pods(many.length)), solve);
    expect(played.passes).toBe(MOST_PASSES);
    expect(played.isSettled).toBe(false);
    expect(played.result.newClaims).toHaveLength(MOST_PASSES);
    expect(played.result.unschedulable).toHaveLength(5);
  });
});
