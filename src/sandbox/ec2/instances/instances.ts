/**
 * Instances: how one is launched, how it goes from pending to terminated over time, and the calls that
 * describe, reboot and terminate instances.
 */
import type { Tag } from "../../../providers/aws/api/call.ts";
import { AwsError } from "../../../providers/aws/api/call.ts";
import type { Ec2Api } from "../../../providers/aws/api/ec2.ts";
import type { Instance, InstanceStateName } from "../../../providers/aws/api/instances.ts";
import type {
  BlockDeviceMapping,
  LaunchTemplateData,
} from "../../../providers/aws/api/launches.ts";
import { applyFilters, pageOf } from "../account/filters.ts";
import type {
  Answers,
  AwsState,
  ImageRecord,
  InstanceRecord,
  SubnetRecord,
} from "../account/state.ts";
import { awsTime, newId, setTags } from "../account/state.ts";
import { isGone, profileOf, stateOf, toInstance } from "./instance-view.ts";
import { releaseAddress, takeAddress } from "./network.ts";

type InstanceCalls = Pick<
  Answers<Ec2Api>,
  "describeInstances" | "rebootInstances" | "terminateInstances"
>;

const FILTERS: ReadonlySet<string> = new Set([
  "instance-id",
  "instance-state-name",
  "instance-type",
  "instance-lifecycle",
  "private-dns-name",
  "private-ip-address",
  "availability-zone",
  "subnet-id",
  "vpc-id",
  "image-id",
  "architecture",
  "owner-id",
  "reservation-id",
  "launch-time",
  "spot-instance-request-id",
  "instance.group-id",
  "iam-instance-profile.arn",
]);

/** The simulated calls DescribeInstances, RebootInstances and TerminateInstances. */
export function instanceCalls(state: AwsState): InstanceCalls {
  return {
    describeInstances(input) {
      const ids = input.InstanceIds;
      if (ids !== undefined && ids.length > 0 && input.MaxResults !== undefined) {
        throw new AwsError(
          "InvalidParameterCombination",
          "The parameter instancesSet cannot be used with the parameter maxResults",
        );
      }
      const wanted = pickInstances(state, ids);
      const kept = applyFilters(wanted, input.Filters, FILTERS, (record) => ({
        tags: state.tags.get(record.id),
        fields: filterFields(state, record),
      }));
      const page = pageOf(kept, input, { limit: 1000 });
      return { Reservations: reservations(state, page.items), ...page.next };
    },
    rebootInstances(input) {
      // RebootInstances ignores terminated instances, as in EC2.
      const records = pickInstances(state, input.InstanceIds).filter((one) => !isGone(one));
      const still = records.find((one) => one.state !== "running");
      if (still !== undefined)
        throw new AwsError(
          "IncorrectInstanceState",
          `The instance '${still.id}' is not in a state from which it can be rebooted.`,
        );
      for (const record of records) {
        announce(state, record, "rebooted", record.type);
        state.notify(record, "rebooted");
      }
    },
    terminateInstances(input) {
      if (input.InstanceIds === undefined || input.InstanceIds.length === 0) {
        throw new AwsError("MissingParameter", "The request must contain the parameter InstanceId");
      }
      const records = pickInstances(state, input.InstanceIds);
      return {
        TerminatingInstances: records.map((record) => {
          const before = record.state;
          terminate(state, record, "User initiated");
          return {
            InstanceId: record.id,
            PreviousState: stateOf(before),
            CurrentState: stateOf(record.state),
          };
        }),
      };
    },
  };
}

function pickInstances(state: AwsState, ids: readonly string[] | undefined): InstanceRecord[] {
  const nowMs = state.clock.now();
  const isTold = (one: InstanceRecord): boolean => state.faults.isTold(one.launchedMs, nowMs);
  if (ids === undefined || ids.length === 0) return [...state.instances.values()].filter(isTold);
  for (const id of ids) {
    if (/^i-([0-9a-f]{8}|[0-9a-f]{17})$/.test(id)) continue;
    throw new AwsError("InvalidInstanceID.Malformed", `Invalid id: "${id}"`);
  }
  const missing = ids.filter((id) => {
    const record = state.instances.get(id);
    return record === undefined || !isTold(record);
  });
  if (missing.length > 0) {
    const [noun, verb] = missing.length === 1 ? ["ID", "does"] : ["IDs", "do"];
    throw new AwsError(
      "InvalidInstanceID.NotFound",
      `The instance ${noun} '${missing.join(", ")}' ${verb} not exist`,
    );
  }
  return [...new Set(ids)].map((id) => state.instances.get(id) as InstanceRecord);
}

function filterFields(
  state: AwsState,
  record: InstanceRecord,
): Record<string, string | readonly string[] | undefined> {
  return {
    "instance-id": record.id,
    "instance-state-name": record.state,
    "instance-type": record.type,
    "instance-lifecycle": record.capacityType === "spot" ? "spot" : undefined,
    "private-dns-name": isGone(record) ? undefined : record.privateDnsName,
    "private-ip-address": isGone(record) ? undefined : record.privateIp,
    "availability-zone": record.zone,
    "subnet-id": record.subnetId,
    "vpc-id": state.subnets.get(record.subnetId)?.vpcId,
    "image-id": record.imageId,
    architecture: state.images.get(record.imageId)?.image.Architecture,
    "owner-id": state.accountId,
    "reservation-id": record.reservationId,
    "launch-time": awsTime(record.launchedMs),
    "spot-instance-request-id": record.spotRequestId,
    "instance.group-id": record.securityGroupIds,
    "iam-instance-profile.arn": profileOf(state, record)?.Arn,
  };
}

interface ReservationView {
  readonly ReservationId: string;
  readonly OwnerId: string;
  readonly Instances: Instance[];
}

function reservations(state: AwsState, records: readonly InstanceRecord[]): ReservationView[] {
  const groups = new Map<string, ReservationView>();
  for (const record of records) {
    const { reservationId: ReservationId } = record;
    let group = groups.get(ReservationId);
    if (group === undefined) {
      group = { ReservationId, OwnerId: state.accountId, Instances: [] };
      groups.set(ReservationId, group);
    }
    group.Instances.push(toInstance(state, record));
  }
  return [...groups.values()];
}

/** A launch of one instance, with all references resolved. */
export interface LaunchOrder {
  readonly type: string;
  readonly image: ImageRecord;
  readonly subnet: SubnetRecord;
  readonly capacityType: "on-demand" | "spot";
  readonly data: LaunchTemplateData;
  readonly securityGroupIds: readonly string[];
  readonly profileName: string | undefined;
  readonly fleetId: string | undefined;
  readonly capacityReservationId?: string | undefined;
  /** Whether the instance is running at once, because it was there before the simulation began. */
  readonly alreadyRunning?: boolean;
  readonly instanceTags: readonly Tag[];
  readonly volumeTags: readonly Tag[];
  readonly interfaceTags: readonly Tag[];
  readonly spotRequestTags: readonly Tag[];
}

/** Launches one instance. Undefined if its subnet has no free address. */
export function launch(state: AwsState, order: LaunchOrder): InstanceRecord | undefined {
  const address = takeAddress(order.subnet);
  if (address === undefined) return undefined;
  const id = newId(state, "i");
  const spotRequestId = order.capacityType === "spot" ? newId(state, "sir") : undefined;
  const interfaceId = newId(state, "eni");
  const record: InstanceRecord = {
    id,
    type: order.type,
    imageId: order.image.image.ImageId,
    zone: order.subnet.zone,
    subnetId: order.subnet.id,
    capacityType: order.capacityType,
    spotRequestId,
    launchedMs: state.clock.now() - (order.alreadyRunning === true ? 3_600_000 : 0),
    privateIp: address.ip,
    privateDnsName: `ip-${address.ip.replaceAll(".", "-")}.${dnsSuffix(state.region)}`,
    addressOffset: address.offset,
    interfaceId,
    securityGroupIds: order.securityGroupIds,
    profileName: order.profileName,
    data: order.data,
    volumeIds: createVolumes(state, id, order),
    reservationId: newId(state, "r"),
    fleetId: order.fleetId,
    capacityReservationId: order.capacityReservationId,
    partition: partitionFor(state, order.data),
    state: order.alreadyRunning === true ? "running" : "pending",
    stateReason: "",
  };
  state.instances.set(id, record);
  setTags(state, id, order.instanceTags);
  setTags(state, interfaceId, order.interfaceTags);
  if (spotRequestId !== undefined) setTags(state, spotRequestId, order.spotRequestTags);
  if (order.alreadyRunning !== true) boot(state, record, order);
  return record;
}

/** The requested partition, or else the one with the fewest instances. */
function partitionFor(state: AwsState, { Placement }: LaunchTemplateData): number | undefined {
  const group = state.placementGroups.get(Placement?.GroupId ?? "");
  if (group?.Strategy !== "partition") return undefined;
  if (Placement?.PartitionNumber !== undefined) return Placement.PartitionNumber;
  const taken = liveIn(state, group.GroupId).map((one) => one.partition);
  const sizes = Array.from({ length: group.PartitionCount ?? 1 }, (_, at) => ({
    partition: at + 1,
    size: taken.filter((one) => one === at + 1).length,
  }));
  return sizes.sort((a, b) => a.size - b.size || a.partition - b.partition)[0]?.partition;
}

/** The instances of a placement group that are not terminated. */
export function liveIn(state: AwsState, groupId: string): readonly InstanceRecord[] {
  return [...state.instances.values()].filter(
    (one) => one.data.Placement?.GroupId === groupId && !isGone(one),
  );
}

function boot(state: AwsState, record: InstanceRecord, order: LaunchOrder): void {
  announce(state, record, "launched", `${order.type} ${record.zone} ${order.capacityType}`);
  state.notify(record, "pending");
  const { type, zone, capacityType } = record;
  const delayMs = state.faults.bootDelayMs({ instanceType: type, zone, capacityType });
  state.clock.after(state.timings.pendingMs + delayMs, () => {
    if (record.state !== "pending") return;
    record.state = "running";
    announce(state, record, "running", record.privateDnsName);
    state.notify(record, "running");
  });
}

function dnsSuffix(region: string): string {
  return region === "us-east-1" ? "ec2.internal" : `${region}.compute.internal`;
}

/** The block devices of a launch: those of the image, changed and extended by the launch template. */
export function mappedDevices(
  image: readonly BlockDeviceMapping[],
  template: readonly BlockDeviceMapping[] | undefined,
): BlockDeviceMapping[] {
  const devices = new Map(image.map((device) => [device.DeviceName, device]));
  for (const device of template ?? []) {
    const base = devices.get(device.DeviceName);
    devices.set(device.DeviceName, {
      DeviceName: device.DeviceName,
      Ebs: { ...base?.Ebs, ...device.Ebs },
    });
  }
  return [...devices.values()];
}

/** The size of a volume if nothing sets one, in GiB. */
const DEFAULT_VOLUME_GIB = 8;

function createVolumes(state: AwsState, instanceId: string, order: LaunchOrder): string[] {
  const devices = mappedDevices(order.image.blockDevices, order.data.BlockDeviceMappings);
  return devices.map((device) => {
    const id = newId(state, "vol");
    const ebs = device.Ebs ?? {};
    state.volumes.set(id, {
      id,
      instanceId,
      deviceName: device.DeviceName,
      zone: order.subnet.zone,
      sizeGib: ebs.VolumeSize ?? DEFAULT_VOLUME_GIB,
      type: ebs.VolumeType ?? "gp2",
      encrypted: ebs.Encrypted ?? false,
      iops: ebs.Iops,
      throughput: ebs.Throughput,
      deleteOnTermination: ebs.DeleteOnTermination ?? true,
      createdMs: state.clock.now(),
    });
    setTags(state, id, order.volumeTags);
    return id;
  });
}

const ENDING: ReadonlySet<InstanceStateName> = new Set(["shutting-down", "terminated"]);

/** Starts to terminate an instance. Does nothing if it is terminating already. */
export function terminate(state: AwsState, record: InstanceRecord, reason: string): void {
  if (ENDING.has(record.state)) return;
  record.state = "shutting-down";
  record.stateReason = reason;
  announce(state, record, "terminating", record.type, reason);
  state.notify(record, "shutting-down");
  state.clock.after(state.timings.shuttingDownMs, () => end(state, record));
}

function end(state: AwsState, record: InstanceRecord): void {
  record.state = "terminated";
  const subnet = state.subnets.get(record.subnetId);
  if (subnet !== undefined) releaseAddress(subnet, record.addressOffset);
  for (const id of record.volumeIds) {
    if (state.volumes.get(id)?.deleteOnTermination !== true) continue;
    state.volumes.delete(id);
    state.tags.delete(id);
  }
  state.tags.delete(record.interfaceId);
  announce(state, record, "terminated", record.type);
  state.notify(record, "terminated");
  state.clock.after(state.timings.forgetAfterMs, () => {
    state.instances.delete(record.id);
    state.tags.delete(record.id);
  });
}

/** Time from EC2's notice of a spot interruption to the interruption. */
export const INTERRUPTION_NOTICE_MS = 120_000;

/** Interrupts a spot instance: the notice now, the termination two minutes later. */
export function reclaim(state: AwsState, record: InstanceRecord): void {
  if (ENDING.has(record.state)) return;
  announce(state, record, "reclaimed", record.type, "spot interruption notice");
  state.notify(record, "interruption-notice");
  state.clock.after(INTERRUPTION_NOTICE_MS, () => {
    terminate(state, record, "Server.SpotInstanceTermination");
  });
}

/** How long the operating system takes to shut down. */
const STOPPING_MS = 10_000;

/** Stops an instance as a user does by hand. It keeps its id and its disks. */
export function stop(state: AwsState, record: InstanceRecord): void {
  if (record.state !== "running") return;
  record.state = "stopping";
  record.stateReason = "User initiated";
  announce(state, record, "stopping", record.type, record.stateReason);
  state.notify(record, "stopping");
  state.clock.after(STOPPING_MS, () => {
    if (record.state !== "stopping") return;
    record.state = "stopped";
    announce(state, record, "stopped", record.type);
    state.notify(record, "stopped");
  });
}

function announce(
  state: AwsState,
  record: InstanceRecord,
  verb: string,
  what: string,
  why?: string,
): void {
  state.trace?.({
    atMs: state.clock.now(),
    actor: "ec2",
    verb,
    object: `instance ${record.id}`,
    what,
    ...(why === undefined ? {} : { why }),
  });
}
