/**
 * Capacity reservations, placement groups and instance status: the calls that describe them. Tests and scenarios create
 * them through the functions at the end of this file. Launches use up reservations.
 */
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type {
  DescribeInstanceStatusInput,
  DescribeInstanceStatusOutput,
  InstanceStatus,
} from "../../../providers/aws/api/instances.ts";
import type {
  CapacityReservation,
  PlacementGroup,
} from "../../../providers/aws/api/reservations.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type { Answers, AwsState, InstanceRecord } from "../account/state.ts";
import { newId, setTags, tagsOf } from "../account/state.ts";

type SetAsideCalls = Pick<
  Answers<Ec2Api>,
  "describeCapacityReservations" | "describePlacementGroups" | "describeInstanceStatus"
>;

/** A capacity reservation to add; missing fields get defaults. */
export type ReservationSeed = Partial<
  Omit<CapacityReservation, "Tags" | "AvailableInstanceCount">
> & {
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly TotalInstanceCount: number;
  readonly tags?: CapacityReservation["Tags"];
};

/** A placement group to add. */
export type PlacementGroupSeed = Pick<PlacementGroup, "GroupName" | "Strategy"> &
  Partial<Pick<PlacementGroup, "GroupId" | "PartitionCount">>;

const RESERVATION_FILTERS: ReadonlySet<string> = new Set([
  "state",
  "owner-id",
  "instance-type",
  "availability-zone",
  "instance-match-criteria",
]);
const GROUP_FILTERS: ReadonlySet<string> = new Set(["state", "group-name", "strategy"]);
const STATUS_FILTERS: ReadonlySet<string> = new Set([
  "instance-status.status",
  "system-status.status",
  "event.code",
  "availability-zone",
]);

/** The calls about reservations, placement groups and the status of instances. */
export function setAsideCalls(state: AwsState): SetAsideCalls {
  return {
    describeCapacityReservations(input) {
      const all = [...state.capacityReservations.values()];
      const ids = input.CapacityReservationIds ?? [];
      const missing = ids.filter((id) => !state.capacityReservations.has(id));
      if (missing.length > 0) {
        const code = "InvalidCapacityReservationId.NotFound";
        throw new AwsError(code, `The capacity reservation ID '${missing[0]}' does not exist.`);
      }
      const wanted = all.filter(
        (one) => ids.length === 0 || ids.includes(one.CapacityReservationId),
      );
      const kept = applyFilters(wanted, input.Filters, RESERVATION_FILTERS, (one) => ({
        tags: state.tags.get(one.CapacityReservationId),
        fields: {
          state: one.State,
          "owner-id": one.OwnerId,
          "instance-type": one.InstanceType,
          "availability-zone": one.AvailabilityZone,
          "instance-match-criteria": one.InstanceMatchCriteria,
        },
      }));
      const page = pageOf(kept, input, { limit: 1000 });
      return {
        CapacityReservations: page.items.map((one) => ({
          ...one,
          AvailableInstanceCount: availableIn(state, one),
          Tags: tagsOf(state, one.CapacityReservationId),
        })),
        ...page.next,
      };
    },
    describePlacementGroups(input) {
      const all = [...state.placementGroups.values()];
      for (const id of input.GroupIds ?? []) {
        if (!state.placementGroups.has(id)) throw unknownGroup(id);
      }
      for (const name of input.GroupNames ?? []) {
        if (!all.some((group) => group.GroupName === name)) throw unknownGroup(name);
      }
      const wanted = all.filter(
        ({ GroupId, GroupName }) =>
          (input.GroupIds ?? [GroupId]).includes(GroupId) &&
          (input.GroupNames ?? [GroupName]).includes(GroupName),
      );
      const kept = applyFilters(wanted, input.Filters, GROUP_FILTERS, (group) => ({
        tags: state.tags.get(group.GroupId),
        fields: { state: group.State, "group-name": group.GroupName, strategy: group.Strategy },
      }));
      return { PlacementGroups: kept };
    },
    describeInstanceStatus: (input) => describeStatus(state, input),
  };
}

function describeStatus(
  state: AwsState,
  input: DescribeInstanceStatusInput,
): DescribeInstanceStatusOutput {
  const ids = input.InstanceIds ?? [...state.instances.keys()];
  const running = ids.flatMap((id) => {
    const record = state.instances.get(id);
    return record?.state === "running" ? [record] : [];
  });
  const kept = applyFilters(running, input.Filters, STATUS_FILTERS, (record) => ({
    tags: undefined,
    fields: {
      "instance-status.status": statusOf(state, record).InstanceStatus?.Status,
      "system-status.status": statusOf(state, record).SystemStatus?.Status,
      "event.code": (statusOf(state, record).Events ?? []).map((event) => event.Code ?? ""),
      "availability-zone": record.zone,
    },
  }));
  const page = pageOf(kept, input, { limit: 1000 });
  return { InstanceStatuses: page.items.map((one) => statusOf(state, one)), ...page.next };
}

function unknownGroup(name: string): AwsError {
  return new AwsError("InvalidPlacementGroup.Unknown", `The Placement Group '${name}' is unknown.`);
}

function statusOf(state: AwsState, { id }: InstanceRecord): InstanceStatus {
  const ok = { Status: "ok", Details: [{ Name: "reachability", Status: "passed" }] };
  return { InstanceId: id, InstanceStatus: ok, SystemStatus: ok, ...state.impaired.get(id) };
}

/** Number of instances that still fit into the reservation. */
function availableIn(state: AwsState, reservation: CapacityReservation): number {
  const id = reservation.CapacityReservationId;
  const used = [...state.instances.values()].filter(
    (record) => record.capacityReservationId === id && record.state !== "terminated",
  ).length;
  return Math.max(0, (reservation.TotalInstanceCount ?? 0) - used);
}

/** The reservation that a template targets, or a text that says why nothing can be launched into it. */
export function targetedReservation(
  state: AwsState,
  id: string | undefined,
  type: string,
  zone: string,
): CapacityReservation | string {
  const found = id === undefined ? undefined : state.capacityReservations.get(id);
  if (found === undefined || found.State !== "active") return `${id} is not active`;
  if (found.InstanceType !== type || found.AvailabilityZone !== zone) {
    return `${id} is for ${found.InstanceType} in ${found.AvailabilityZone}`;
  }
  return availableIn(state, found) > 0 ? found : `${id} has no capacity left`;
}

/** Adds a capacity reservation and returns its id. */
export function addReservation(state: AwsState, seed: ReservationSeed): string {
  const { tags = [], ...given } = seed;
  const id = given.CapacityReservationId ?? newId(state, "cr");
  state.capacityReservations.set(id, {
    OwnerId: state.accountId,
    State: "active",
    InstanceMatchCriteria: "targeted",
    ReservationType: "default",
    ...given,
    CapacityReservationId: id,
    AvailableInstanceCount: given.TotalInstanceCount,
    Tags: [],
  });
  setTags(state, id, tags);
  return id;
}

/** Adds a placement group and returns its id. */
export function addPlacementGroup(state: AwsState, seed: PlacementGroupSeed): string {
  const id = seed.GroupId ?? newId(state, "pg");
  state.placementGroups.set(id, { State: "available", ...seed, GroupId: id, Tags: [] });
  return id;
}
