import { expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { InstanceType } from "../../cloudprovider/instance-type.ts";
import type { PlannedClaim } from "../result.ts";
import { solve } from "../solve.ts";
import { supposedLabels } from "./unlaunched.ts";

const RESERVATION = "karpenter.k8s.aws/capacity-reservation-id";
const ZONE_ID = "topology.k8s.aws/zone-id";

it("takes offering labels of a planned node from its cheapest offering", () => {
  const at = { zone: "zone-b", priceMicroUsd: 200_000, available: true };
  const offerings = [
    {
      ...{ ...at, capacityType: "reserved" as const, priceMicroUsd: 1, reservationCapacity: 1 },
      labels: { [RESERVATION]: "cr-1", [ZONE_ID]: "id-b" },
    },
    { ...at, capacityType: "on-demand" as const, labels: { [ZONE_ID]: "id-b" } },
  ];
  const labels = { [RESERVATION]: ["cr-1"], [ZONE_ID]: ["id-a", "id-b"] };
  const types = [instanceType({ cpu: 4, offerings, labels })];
  const pods = ["one", "two"].map((name) => pod({ name, cpu: "3" }));
  const plan = solve(schedulingInput({ pods, pools: [poolInput({}, types)] })).newClaims;
  const supposed = plan.map((one) => supposedLabels(one, new Set()));
  expect(supposed.map((one) => one["karpenter.sh/capacity-type"])).toEqual([
    "reserved",
    "on-demand",
  ]);
  expect(supposed.map((one) => one[RESERVATION])).toEqual(["cr-1", undefined]);
  expect(supposed.map((one) => one[ZONE_ID])).toEqual(["id-b", "id-b"]);
});

it("assumes no value of a label that differs between types or offerings", () => {
  const FAMILY = "test.sh/family";
  const RACK = "test.sh/rack";
  const sold = (rack: string) => ({
    ...{ zone: "zone-a", capacityType: "on-demand" as const, priceMicroUsd: 1, available: true },
    labels: { [RACK]: rack },
  });
  const type = (family: string, ...racks: readonly string[]) =>
    instanceType({
      name: family,
      cpu: 4,
      labels: { [FAMILY]: [family], [RACK]: ["r1", "r2"] },
      offerings: racks.map(sold),
    });
  const supposed = (...types: readonly InstanceType[]) => {
    const input = schedulingInput({ pods: [pod({ cpu: "3" })], pools: [poolInput({}, types)] });
    const [plan] = solve(input).newClaims;
    const labels = supposedLabels(plan as PlannedClaim, new Set([FAMILY, RACK]));
    return [labels[FAMILY], labels[RACK]];
  };
  expect(supposed(type("a", "r1"))).toEqual(["a", "r1"]);
  expect(supposed(type("a", "r1"), type("b", "r1"))).toEqual([undefined, "r1"]);
  expect(supposed(type("a", "r1", "r2"))).toEqual(["a", undefined]);
});
