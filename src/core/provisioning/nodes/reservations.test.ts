import { describe, expect, it } from "vitest";
import { instanceType } from "../../../testing/builders.ts";
import { Reservations } from "./reservations.ts";

const LABEL = "karpenter.k8s.aws/capacity-reservation-id";

describe("Reservations", () => {
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

  it("gives each node one unit of a reservation, and no more units than there are", () => {
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

  it("takes back only the units that a node can no longer use", () => {
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

  it("does not change when its copy changes", () => {
    const reservations = new Reservations(types);
    reservations.copy().exchange([], both);
    expect(reservations.holdable(both, [])).toEqual(both);
  });
});
