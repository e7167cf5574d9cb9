// Types whose offerings in some zones are too small for the pods. The claim must not allow such offerings.
import { describe, expect, it } from "vitest";
import { instanceType, pod, poolInput, schedulingInput } from "../../../testing/builders.ts";
import type { Offering } from "../../cloudprovider/instance-type.ts";
import { solve } from "../solve.ts";

const ZONE = "topology.kubernetes.io/zone";

const offering = (zone: string, priceMicroUsd: number, own: Partial<Offering> = {}): Offering => ({
  zone,
  capacityType: "on-demand",
  priceMicroUsd,
  available: true,
  ...own,
});
/** An offering in this zone that has only 2 cpu for pods. */
const small = (zone: string, priceMicroUsd: number) =>
  offering(zone, priceMicroUsd, { overheadOverride: { cpu: 2_000 } });

const type = (name: string, ...offerings: readonly Offering[]) =>
  instanceType({ name, cpu: 4, offerings });

/** The types and zones of the claim that is planned for one pod. */
function launched(cpu: string, ...types: readonly ReturnType<typeof type>[]) {
  const pools = [poolInput({}, types)];
  const [claim] = solve(schedulingInput({ pods: [pod({ cpu })], pools })).newClaims;
  const zones = claim?.requirements.find(({ key }) => key === ZONE);
  return {
    types: claim?.instanceTypes.map(({ name }) => name).sort(),
    zones: zones?.operator === "In" ? zones.values : undefined,
  };
}

describe("a planned NodeClaim", () => {
  const split = type("split", offering("zone-a", 10), small("zone-b", 10));

  it("leaves the zone open if every offering is large enough", () => {
    expect(launched("1", split)).toEqual({ types: ["split"], zones: undefined });
    const whole = type("whole", offering("zone-a", 10), offering("zone-b", 10));
    expect(launched("3", whole)).toEqual({ types: ["whole"], zones: undefined });
  });

  it("excludes zones in which its type is too small", () => {
    expect(launched("3", split)).toEqual({ types: ["split"], zones: ["zone-a"] });
  });

  it("allows all zones in which no type is too small", () => {
    const whole = type("whole", offering("zone-b", 20), offering("zone-c", 20));
    expect(launched("3", split, whole)).toEqual({
      types: ["split", "whole"],
      zones: ["zone-a", "zone-c"],
    });
  });

  it("uses the cheapest type, even if another type is too small in its zone", () => {
    const cheap = type("whole", offering("zone-b", 5));
    expect(launched("3", split, cheap)).toEqual({ types: ["whole"], zones: ["zone-b"] });
  });

  it("allows all values of another label with which no type is too small", () => {
    const RACK = "test.sh/rack";
    const at = (rack: string, own: Partial<Offering> = {}) =>
      offering("zone-a", 10, { ...own, labels: { [RACK]: rack } });
    const racks = { [RACK]: ["r1", "r2", "r3"] };
    const overheadOverride = { cpu: 2_000 };
    const types = [
      { ...type("split", at("r1"), at("r2", { overheadOverride })) },
      { ...type("whole", at("r3"), at("r1")) },
    ].map((one) => ({ ...one, labels: { ...one.labels, ...racks } }));
    const input = schedulingInput({ pods: [pod({ cpu: "3" })], pools: [poolInput({}, types)] });
    const [claim] = solve(input).newClaims;
    const racksOf = claim?.requirements.find(({ key }) => key === RACK);
    expect(racksOf).toEqual({ key: RACK, operator: "In", values: ["r1", "r3"] });
  });

  it("requires the capacity type in which its type is large enough", () => {
    const bySpot = type("split", small("zone-a", 5), {
      ...offering("zone-a", 9),
      capacityType: "spot",
    });
    expect(launched("3", bySpot).types).toEqual(["split"]);
    const [claim] = solve(
      schedulingInput({ pods: [pod({ cpu: "3" })], pools: [poolInput({}, [bySpot])] }),
    ).newClaims;
    expect(claim?.requirements).toContainEqual({
      key: "karpenter.sh/capacity-type",
      operator: "In",
      values: ["spot"],
    });
  });
});
