import { describe, expect, it } from "vitest";
import {
  instanceType,
  nodeView,
  pods,
  poolInput,
  schedulingInput,
} from "../../testing/builders.ts";
import type { SchedulingInput } from "../provisioning/scheduling-input.ts";
import { solve } from "../provisioning/solve.ts";
import { leastPriceMicroUsd } from "./least-price.ts";

/** The lower bound on the price, and the price of the plan. */
function bound(options: Partial<SchedulingInput>): [least: number, price: number] {
  const input = schedulingInput(options);
  const result = solve(input);
  const price = result.newClaims.reduce((sum, one) => sum + one.cheapest.priceMicroUsd, 0);
  return [leastPriceMicroUsd(input, result), price];
}

describe("the lower bound of the price", () => {
  const pools = [poolInput({}, [instanceType({ cpu: 4, capacityTypes: ["on-demand"] })])];

  it("is the price of the scarcest resource, and at least that of one node", () => {
    expect(bound({ pods: pods(8, { cpu: "2" }), pools })).toEqual([800_000, 800_000]);
    expect(bound({ pods: pods(3, { cpu: "3" }), pools })).toEqual([450_000, 600_000]);
    expect(bound({ pods: pods(2, { cpu: "100m", memory: "12Gi" }), pools })).toEqual([
      300_000, 400_000,
    ]);
    expect(bound({ pods: pods(1), pools })).toEqual([200_000, 200_000]);
  });

  it("excludes free room on existing nodes, and reserved capacity", () => {
    const nodes = [nodeView({ node: { name: "n" } })];
    expect(bound({ pods: pods(4, { cpu: "2" }), pools, nodes })).toEqual([200_000, 200_000]);
    expect(bound({ pods: pods(2, { cpu: "2" }), pools, nodes })).toEqual([0, 0]);
    const reserved = {
      zone: "zone-a",
      capacityType: "reserved" as const,
      priceMicroUsd: 0,
      available: true,
      labels: { "test.sh/reservation-id": "cr-1" },
      reservationCapacity: 1,
    };
    const [type] = pools[0]?.instanceTypes ?? [];
    const both = instanceType({ cpu: 4, offerings: [...(type?.offerings ?? []), reserved] });
    const paid = [poolInput({}, [both])];
    expect(bound({ pods: pods(4, { cpu: "2" }), pools: paid })).toEqual([200_000, 200_000]);
  });

  it("includes DaemonSet pods, and is zero without pods or types", () => {
    const [daemon] = pods(1, { cpu: "1", owner: { kind: "DaemonSet", name: "agent" } });
    const input = { pods: pods(3, { cpu: "3" }), pools, daemonPods: daemon ? [daemon] : [] };
    expect(bound(input)).toEqual([600_000, 600_000]);
    expect(bound({ pods: [], pools })).toEqual([0, 0]);
    expect(bound({ pods: pods(1), pools: [] })).toEqual([0, 0]);
  });
});
