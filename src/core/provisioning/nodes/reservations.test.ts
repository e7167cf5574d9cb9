import { describe, expect, it } from "vitest";
import { instanceType } from "../../../testing/builders.ts";
import { Reservations } from "./reservations.ts";

const LABEL = "karpenter.k8s.aws/capacity-reservation-id";

describe("who may count on which reservation", () => {
  const types = [
    { id: "cr-1", units: 1 },
    { id: "cr-2", units: 2 },
  ].map(({ id, units }) =>
    instanceType({
      name: `type-${id}`,
      offerings: [
        {
          zone: "test-zone-1",
          capacityType: "reserved",
          priceMicroUsd: 1,
          available: true,
          reservationCapacity: units,
          labels: { [LABEL]: id },
        },
      ],
    }),
  );
  const both = ["cr-1", "cr-2"];

  it("is given a unit of each reservation that a node takes, and no more than there are", () => {
    const reservations = new Reservations(types);
    expect(reservations.holdable(both, [])).toEqual(both);
    reservations.exchange([], both);
    expect(reservations.holdable(both, [])).toEqual(["cr-2"]);
    reservations.exchange([], ["cr-2"]);
    expect(reservations.holdable(both, [])).toEqual([]);
    // A node may keep the reservation that it already holds.
    expect(reservations.holdable(both, ["cr-1"])).toEqual(["cr-1"]);
    expect(() => reservations.exchange([], ["cr-1"])).toThrow("promised more often");
  });

  it("is taken back what a node can no longer use, and only that", () => {
    const reservations = new Reservations(types);
    reservations.exchange([], both);
    reservations.exchange(both, ["cr-2"]);
    expect(reservations.holdable(both, [])).toEqual(both);
    // The first node kept cr-2, so one of its two units is left.
    reservations.exchange([], ["cr-2"]);
    expect(reservations.holdable(both, [])).toEqual(["cr-1"]);
    reservations.exchange(["cr-2"], []);
    expect(reservations.holdable(both, [])).toEqual(both);
  });

  it("leaves the one it was copied from as it was", () => {
    const reservations = new Reservations(types);
    reservations.copy().exchange([], both);
    expect(reservations.holdable(both, [])).toEqual(both);
  });
});
