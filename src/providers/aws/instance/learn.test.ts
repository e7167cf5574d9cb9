import { describe, expect, it } from "vitest";
import { SILENT } from "../../../base/log.ts";
import { VirtualClock } from "../../../base/virtual-clock.ts";
import type { InstanceType, Offering } from "../../../core/cloudprovider/instance-type.ts";
import type { FleetError } from "../api/launches.ts";
import { UnavailableOfferings } from "../offering/unavailable.ts";
import { CapacityReservations } from "../reservation/reservations.ts";
import type { Subnets } from "../subnet/subnets.ts";
import type { TemplateGroup } from "./fleet.ts";
import { learn } from "./learn.ts";

const KEY = { capacityType: "reserved", instanceType: "m5.large", zone: "a" } as const;

function errorOf(ErrorCode: string): FleetError {
  const Overrides = { InstanceType: "m5.large", AvailabilityZone: "a", SubnetId: "subnet-a" };
  const LaunchTemplateAndOverrides = { LaunchTemplateSpecification: {}, Overrides };
  return { ErrorCode, ErrorMessage: "", LaunchTemplateAndOverrides } as unknown as FleetError;
}

/**
 * Learns from an error of a launch. There are two reservations, `cr-1`, which the fleet requested, and `cr-2`, each
 * with room for three instances.
 */
async function after(code: string) {
  const clock = new VirtualClock();
  const CapacityReservations_ = ["cr-1", "cr-2"].map((CapacityReservationId) => ({
    ...{ CapacityReservationId, InstanceType: "m5.large", AvailabilityZone: "a" },
    ...{ AvailableInstanceCount: 3, State: "active" },
  }));
  const ec2 = {
    describeCapacityReservations: async () => ({ CapacityReservations: CapacityReservations_ }),
  } as never;
  const reservations = new CapacityReservations({ ec2, clock, log: SILENT });
  const selectedBefore = { subnets: [], securityGroups: [], amis: [], reservations: [] };
  await reservations.list({ reservationTerms: [{ tags: { team: "a" } }], selectedBefore });
  const unavailable = new UnavailableOfferings(clock, SILENT);
  const offerings: Offering[] = [
    { zone: "a", capacityType: "reserved", priceMicroUsd: 0, available: true },
  ];
  const types = [{ type: { name: "m5.large" } as InstanceType, offerings }];
  const reservation = { id: "cr-1", kind: "default" };
  const groups: TemplateGroup[] = [{ templateName: "t", imageId: "ami-1", types, reservation }];
  learn(
    { subnets: {} as Subnets, unavailable, reservations, metrics: { count: () => undefined } },
    [errorOf(code)],
    { capacityType: "reserved", types, placement: undefined, subnets: [], groups },
  );
  return {
    left: ["cr-1", "cr-2"].map((id) => reservations.available(id)),
    out: ["cr-1", "cr-2"].map((id) => unavailable.has({ ...KEY, reservation: id })),
    outOnDemand: unavailable.has({ ...KEY, capacityType: "on-demand" }),
  };
}

describe("an error of a launch into a reservation", () => {
  it.each([
    ["ReservationCapacityExceeded", [0, 3], [false, false]],
    ["InsufficientInstanceCapacity", [3, 3], [true, false]],
    ["InvalidCapacityReservationState.Unavailable", [3, 3], [true, false]],
    ["InternalError", [3, 3], [false, false]],
  ])(
    "%s leads to these free counts, and to these reservations marked as unavailable",
    async (code, left, out) => {
      expect(await after(code)).toEqual({ left, out, outOnDemand: false });
    },
  );
});
