/**
 * Learns from the errors of a fleet: offerings, subnets and reservations without capacity are not used for a while.
 * upstream: pkg/providers/instance
 */
import { CAPACITY_TYPE_SPOT } from "../../../apis/karpenter/labels.ts";
import type { Metrics } from "../../../base/metrics.ts";
import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";
import type { FleetError } from "../api/launches.ts";
import type { Subnet } from "../api/network.ts";
import { isCapacityCode, SPOT_ROLE_ERROR } from "../errors.ts";
import type { UnavailableOfferings } from "../offering/unavailable.ts";
import type { CapacityReservations } from "../reservation/reservations.ts";
import type { Subnets } from "../subnet/subnets.ts";
import type { Candidates } from "./candidates.ts";
import type { TemplateGroup } from "./fleet.ts";
import { scopeOf } from "./placement.ts";
import type { Launched } from "./to-claim.ts";

/** What a fleet call requested: its errors concern these offerings. */
export interface Asked extends Candidates {
  readonly placement: Launched["placement"];
  readonly subnets: readonly Subnet[];
  readonly groups: readonly TemplateGroup[];
}

/** EC2 allows seven instances of a spread placement group in a zone. This is its message for one more. */
const SPREAD_LIMIT = /limit of instances in this spread placement group/i;

/** The error code of a launch into a full reservation. */
const RESERVATION_FULL = "ReservationCapacityExceeded";

interface Deps {
  readonly subnets: Subnets;
  readonly unavailable: UnavailableOfferings;
  readonly reservations: CapacityReservations;
  readonly metrics: Pick<Metrics, "count">;
}

/** Marks the offerings that have no capacity, according to these errors. */
export function learn(deps: Deps, errors: readonly FleetError[], asked: Asked): void {
  const { capacityType, subnets, types } = asked;
  const group = scopeOf(asked.placement);
  const scope = group === undefined ? {} : { group };
  for (const error of errors) {
    countFailure(deps, error, capacityType, subnets);
    const { ErrorCode, ErrorMessage, LaunchTemplateAndOverrides } = error;
    const overrides = LaunchTemplateAndOverrides?.Overrides;
    const zone = overrides?.AvailabilityZone ?? zoneOfSubnet(subnets, overrides?.SubnetId);
    if (ErrorCode === SPOT_ROLE_ERROR) deps.unavailable.markCapacityType(CAPACITY_TYPE_SPOT);
    if (ErrorCode === "InsufficientFreeAddressesInSubnet" && overrides?.SubnetId !== undefined) {
      deps.subnets.markExhausted(overrides.SubnetId);
    }
    if (!isCapacityCode(ErrorCode) || zone === undefined) continue;
    if (group !== undefined && SPREAD_LIMIT.test(ErrorMessage)) {
      // The placement group is full in this zone, for every type.
      for (const { type } of types)
        deps.unavailable.mark(ErrorCode, { capacityType, instanceType: type.name, zone, ...scope });
      continue;
    }
    const instanceType = overrides?.InstanceType;
    if (instanceType === undefined) continue;
    const offering = { capacityType, instanceType, zone };
    if (capacityType !== "reserved") deps.unavailable.mark(ErrorCode, { ...offering, ...scope });
    for (const reservation of reservationsFor(asked.groups, instanceType, zone)) {
      // A full reservation stays usable later, so only its free count becomes 0.
      if (ErrorCode === RESERVATION_FULL) deps.reservations.exhausted(reservation);
      else deps.unavailable.mark(ErrorCode, { ...offering, reservation });
    }
  }
}

/** The reservations behind the offering that failed. */
function reservationsFor(
  groups: readonly TemplateGroup[],
  instanceType: string,
  zone: string,
): readonly string[] {
  return groups.flatMap(({ types, reservation }) => {
    const isOf = types.some(
      ({ type, offerings }) =>
        type.name === instanceType && offerings.some((one) => one.zone === zone),
    );
    return isOf && reservation !== undefined ? [reservation.id] : [];
  });
}

function countFailure(
  { metrics }: Deps,
  { ErrorCode, LaunchTemplateAndOverrides }: FleetError,
  capacityType: CapacityType,
  subnets: readonly Subnet[],
): void {
  const { SubnetId, AvailabilityZone } = LaunchTemplateAndOverrides?.Overrides ?? {};
  const zone = AvailabilityZone ?? zoneOfSubnet(subnets, SubnetId) ?? "";
  const here = subnets.find((subnet) => subnet.AvailabilityZone === zone);
  metrics.count("cloudprovider_instance_launch_failures_total", {
    zone,
    zone_id: here?.AvailabilityZoneId ?? "",
    capacity_type: capacityType,
    reason: ErrorCode,
  });
}

/** The zone of the subnet. Undefined: the id is not in the list. */
export function zoneOfSubnet(
  subnets: readonly Subnet[],
  id: string | undefined,
): string | undefined {
  return subnets.find((subnet) => subnet.SubnetId === id)?.AvailabilityZone;
}
