import { describe, expect, it } from "vitest";
import { instanceType } from "../../testing/builders.ts";
import { Requirements } from "../scheduling/requirements.ts";
import { cheapestOffering, NO_PRICE_MICRO_USD, worstLaunchPriceMicroUsd } from "./offerings.ts";

const offering = (
  zone: string,
  capacityType: "spot" | "on-demand" | "reserved",
  price: number,
) => ({
  zone,
  capacityType,
  priceMicroUsd: price,
  available: true,
});

const type = instanceType({
  offerings: [
    offering("b", "spot", 30),
    offering("a", "spot", 30),
    offering("c", "spot", 40),
    offering("a", "on-demand", 100),
    {
      ...offering("a", "reserved", 1),
      labels: { "x/reservation-id": "cr" },
      reservationCapacity: 0,
    },
    { ...offering("d", "spot", 5), available: false },
  ],
});

const only = (key: string, value: string) => Requirements.fromLabels({ [key]: value });

describe("offerings", () => {
  it("have the spot price as worst price, even if on-demand is more expensive", () => {
    const offerings = [offering("a", "spot", 30), offering("a", "on-demand", 100)];
    expect(worstLaunchPriceMicroUsd(instanceType({ offerings }), Requirements.NONE)).toBe(30);
  });

  it("are searched for the cheapest available one, by zone among equals", () => {
    expect(cheapestOffering(type, Requirements.NONE)).toMatchObject({
      zone: "a",
      priceMicroUsd: 30,
    });
    const onDemand = only("karpenter.sh/capacity-type", "on-demand");
    expect(cheapestOffering(type, onDemand)?.priceMicroUsd).toBe(100);
    expect(cheapestOffering(type, only("topology.kubernetes.io/zone", "d"))).toBe(undefined);
  });

  it("have as worst price the most expensive one of the capacity type launched first", () => {
    expect(worstLaunchPriceMicroUsd(type, Requirements.NONE)).toBe(40);
    const nowhere = only("topology.kubernetes.io/zone", "mars");
    expect(worstLaunchPriceMicroUsd(type, nowhere)).toBe(NO_PRICE_MICRO_USD);
  });
});
