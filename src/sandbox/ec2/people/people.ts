/**
 * More calls that people make with the AWS CLI and Karpenter never makes: show resources, reserve capacity,
 * stop an instance, withdraw an image, send an event.
 */
import { parseBoundedJson } from "../../../base/bounded-json.ts";
import { isObject } from "../../../base/json.ts";
import type { Filter, Tag } from "../../../providers/aws/api/call.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { TagSpecification } from "../../../providers/aws/api/launches.ts";
import type { PlacementGroup } from "../../../providers/aws/api/reservations.ts";
import { applyFilters } from "../account/filters.ts";
import type { AwsState } from "../account/state.ts";
import { awsTime, tagsOf } from "../account/state.ts";
import { tagsFor } from "../account/tags.ts";
import { stop } from "../instances/instances.ts";
import { pick } from "../instances/network.ts";
import { addPlacementGroup, addReservation } from "../market/reservations.ts";
import { publish } from "../queues/event-bus.ts";

interface Filtered {
  readonly Filters?: readonly Filter[];
}

interface NewReservation {
  readonly InstanceType: string;
  readonly AvailabilityZone: string;
  readonly InstanceCount: number;
  readonly InstanceMatchCriteria?: string;
  readonly TagSpecifications?: readonly TagSpecification[];
}

interface NewGroup {
  readonly GroupName: string;
  readonly Strategy?: PlacementGroup["Strategy"];
  readonly PartitionCount?: number;
}

/** The calls by service and method name. */
export function peoplesCalls(
  state: AwsState,
): Readonly<Record<"ec2" | "ssm" | "events", Readonly<Record<string, (input: never) => unknown>>>> {
  return {
    ec2: { ...lookingAround(state), ...settingAside(state), ...taking(state) },
    ssm: {
      getParameters: ({ Names }: { readonly Names: readonly string[] }) => ({
        Parameters: Names.filter((one) => state.parameters.has(one)).map((one) =>
          parameter(state, one),
        ),
        InvalidParameters: Names.filter((one) => !state.parameters.has(one)),
      }),
      getParametersByPath: ({ Path, Recursive }: { Path: string; Recursive?: boolean }) => ({
        Parameters: [...state.parameters.keys()]
          .filter((one) => isBelow(one, Path, Recursive === true))
          .sort()
          .map((one) => parameter(state, one)),
      }),
    },
    events: {
      putEvents: (input: { readonly Entries: readonly EventEntry[] }) => put(state, input.Entries),
    },
  };
}

function lookingAround(state: AwsState) {
  return {
    describeVpcs: ({ Filters }: Filtered) => ({
      Vpcs: applyFilters([state.vpcId], Filters, new Set(["vpc-id"]), (id) => ({
        tags: state.tags.get(id),
        fields: { "vpc-id": id },
      })).map((VpcId) => ({
        VpcId,
        State: "available",
        CidrBlock: "10.0.0.0/16",
        IsDefault: false,
        OwnerId: state.accountId,
        Tags: tagsOf(state, VpcId),
      })),
    }),
    describeSpotInstanceRequests: ({ Filters }: Filtered) => {
      const spot = [...state.instances.values()].filter((one) => one.spotRequestId !== undefined);
      const known = new Set(["instance-id", "spot-instance-request-id", "state"]);
      const isOpen = (one: (typeof spot)[number]): string =>
        one.state === "terminated" || one.state === "shutting-down" ? "closed" : "active";
      const kept = applyFilters(spot, Filters, known, (one) => ({
        tags: state.tags.get(one.spotRequestId ?? ""),
        fields: {
          "instance-id": one.id,
          "spot-instance-request-id": one.spotRequestId,
          state: isOpen(one),
        },
      }));
      return {
        SpotInstanceRequests: kept.map((one) => ({
          SpotInstanceRequestId: one.spotRequestId,
          InstanceId: one.id,
          State: isOpen(one),
          Type: "one-time",
          CreateTime: awsTime(one.launchedMs),
          LaunchedAvailabilityZone: one.zone,
          Tags: tagsOf(state, one.spotRequestId ?? ""),
        })),
      };
    },
  };
}

function settingAside(state: AwsState) {
  const tagged = (specs: readonly TagSpecification[] | undefined, type: string): readonly Tag[] =>
    tagsFor(specs ?? [], type);
  return {
    createCapacityReservation: ({ InstanceCount, TagSpecifications, ...given }: NewReservation) => {
      if (state.catalogue.info(given.InstanceType) === undefined) {
        const message = `Invalid value '${given.InstanceType}' for InstanceType.`;
        throw new AwsError("InvalidInstanceType", message);
      }
      const id = addReservation(state, {
        InstanceType: given.InstanceType,
        AvailabilityZone: given.AvailabilityZone,
        TotalInstanceCount: InstanceCount,
        InstanceMatchCriteria: given.InstanceMatchCriteria ?? "open",
        tags: tagged(TagSpecifications, "capacity-reservation"),
      });
      return {
        CapacityReservation: { ...state.capacityReservations.get(id), Tags: tagsOf(state, id) },
      };
    },
    createPlacementGroup: ({ GroupName, Strategy = "cluster", PartitionCount }: NewGroup) => {
      if ([...state.placementGroups.values()].some((one) => one.GroupName === GroupName)) {
        const message = `The placement group ${GroupName} already exists.`;
        throw new AwsError("InvalidPlacementGroup.Duplicate", message);
      }
      const count = PartitionCount ?? (Strategy === "partition" ? 2 : undefined);
      const counted = count === undefined ? {} : { PartitionCount: count };
      const id = addPlacementGroup(state, { GroupName, Strategy, ...counted });
      return { PlacementGroup: { ...state.placementGroups.get(id), Tags: [] } };
    },
  };
}

function taking(state: AwsState) {
  return {
    stopInstances: ({ InstanceIds }: { readonly InstanceIds: readonly string[] }) => {
      const code = "InvalidInstanceID.NotFound";
      const records = pick(state.instances, InstanceIds, code, "instance ID");
      return {
        StoppingInstances: records.map((record) => {
          const PreviousState = { Name: record.state };
          stop(state, record);
          return { InstanceId: record.id, CurrentState: { Name: record.state }, PreviousState };
        }),
      };
    },
    // AWS's own images can be withdrawn too. Launch templates may still name a withdrawn image.
    deregisterImage: ({ ImageId }: { readonly ImageId: string }) => {
      pick(state.images, [ImageId], "InvalidAMIID.NotFound", "image id");
      state.images.delete(ImageId);
      return { Return: true };
    },
  };
}

function parameter(state: AwsState, name: string): object {
  return { Name: name, Type: "String", Value: state.parameters.get(name), Version: 1 };
}

function isBelow(name: string, path: string, recursive: boolean): boolean {
  const folder = path.endsWith("/") ? path : `${path}/`;
  if (!name.startsWith(folder)) return false;
  return recursive || !name.slice(folder.length).includes("/");
}

interface EventEntry {
  readonly Source?: string;
  readonly DetailType?: string;
  readonly Detail?: string;
  readonly Resources?: readonly string[];
}

/** Puts events on the event bus. Sources that begin with `aws.` are reserved for AWS. */
function put(state: AwsState, entries: readonly EventEntry[]): object {
  const results = entries.map(({ Source = "", DetailType = "", Detail = "{}", Resources = [] }) => {
    if (Source.startsWith("aws."))
      return {
        ErrorCode: "NotAuthorizedForSourceException",
        ErrorMessage: `Not authorized for the source ${Source}.`,
      };
    const detail = parsed(Detail);
    if (detail === undefined)
      return { ErrorCode: "MalformedDetail", ErrorMessage: "Detail is malformed." };
    publish(state, { source: Source, "detail-type": DetailType, resources: Resources, detail });
    return { EventId: state.messageIds.uuid() };
  });
  return {
    FailedEntryCount: results.filter((one) => "ErrorCode" in one).length,
    Entries: results,
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseBoundedJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
