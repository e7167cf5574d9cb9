/**
 * The records of the simulated account, by id. Only the calls in `sandbox/ec2` change them. All tags of EC2
 * resources are in one table, as in EC2, so that every resource is tagged, filtered and described in the same
 * way.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import type { Tag } from "../../../providers/aws/api/call.ts";
import type { EksCluster } from "../../../providers/aws/api/eks.ts";
import type { Image } from "../../../providers/aws/api/images-and-types.ts";
import type { InstanceStateName, InstanceStatus } from "../../../providers/aws/api/instances.ts";
import type {
  BlockDeviceMapping,
  LaunchTemplateData,
} from "../../../providers/aws/api/launches.ts";
import type { AvailabilityZone } from "../../../providers/aws/api/network.ts";
import type {
  CapacityReservation,
  PlacementGroup,
} from "../../../providers/aws/api/reservations.ts";
import type { Trace } from "../../trace.ts";
import type { ImageFamily } from "../boot/user-data.ts";
import type { Catalogue } from "../market/catalogue.ts";
import type { Queue } from "../queues/queue.ts";
import type { Faults } from "./faults.ts";
import type { PolicyDocument } from "./policy.ts";

/** The calls of an interface, but synchronous: they return the answer instead of a promise. */
export type Answers<Api> = {
  [Call in keyof Api]: Api[Call] extends (input: infer Input) => Promise<infer Output>
    ? (input: Input) => Output
    : never;
};

/** A subnet of the account. */
export interface SubnetRecord {
  readonly id: string;
  readonly vpcId: string;
  readonly zone: string;
  readonly zoneId: string;
  readonly cidr: string;
  /** The first address of the block as a 32-bit integer. */
  readonly firstAddress: number;
  readonly size: number;
  readonly isPublic: boolean;
  /** Used addresses, as offsets from the first one. EC2 reserves the first four and the last one. */
  readonly used: Set<number>;
  /** The number of free addresses, if a test has set it. Launches reduce it. Undefined: the addresses are counted. */
  freeOverride: number | undefined;
  nextOffset: number;
}

/** A security group of the account. */
export interface SecurityGroupRecord {
  readonly id: string;
  readonly name: string;
  readonly vpcId: string;
  readonly description: string;
}

/** The devices for which the image has drivers. `standard`: none. `gpu` and `any`: NVIDIA and Neuron. */
export type ImageVariant = "standard" | "nvidia" | "neuron" | "gpu" | "any";

/** An AMI, and what its instances report. */
export interface ImageRecord {
  readonly image: Omit<Image, "Tags">;
  readonly family: ImageFamily;
  readonly variant: ImageVariant;
  /** The node's `osImage`, such as `Amazon Linux 2`. */
  readonly osImage: string;
  readonly blockDevices: readonly BlockDeviceMapping[];
}

/** An IAM role. */
export interface RoleRecord {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly createdMs: number;
}

/** An IAM instance profile; it holds at most one role. */
export interface ProfileRecord {
  readonly name: string;
  readonly path: string;
  readonly id: string;
  readonly createdMs: number;
  readonly tags: Map<string, string>;
  role: string | undefined;
}

/** A launch template with its versions. */
export interface LaunchTemplateRecord {
  readonly id: string;
  readonly name: string;
  readonly createdMs: number;
  /** The versions, version 1 first. */
  readonly versions: LaunchTemplateData[];
}

/** An EBS volume of an instance. */
export interface VolumeRecord {
  readonly id: string;
  readonly instanceId: string;
  readonly deviceName: string;
  readonly zone: string;
  readonly sizeGib: number;
  readonly type: string;
  readonly encrypted: boolean;
  readonly iops: number | undefined;
  readonly throughput: number | undefined;
  readonly deleteOnTermination: boolean;
  readonly createdMs: number;
}

/** An instance. Terminated instances are removed after an hour. */
export interface InstanceRecord {
  readonly id: string;
  readonly type: string;
  readonly imageId: string;
  readonly zone: string;
  readonly subnetId: string;
  readonly capacityType: "on-demand" | "spot";
  readonly spotRequestId: string | undefined;
  readonly launchedMs: number;
  readonly privateIp: string;
  readonly privateDnsName: string;
  readonly addressOffset: number;
  readonly interfaceId: string;
  readonly securityGroupIds: readonly string[];
  readonly profileName: string | undefined;
  readonly data: LaunchTemplateData;
  readonly volumeIds: readonly string[];
  readonly reservationId: string;
  readonly fleetId: string | undefined;
  readonly capacityReservationId: string | undefined;
  /** The partition of its placement group. */
  readonly partition: number | undefined;
  state: InstanceStateName;
  stateReason: string;
}

/** A zonal shift that a person started. */
export interface ShiftRecord {
  readonly id: string;
  /** The id of a zone, such as `usw2-az1`. */
  readonly awayFrom: string;
  readonly comment: string;
  readonly startedMs: number;
  readonly expiresMs: number;
  canceled: boolean;
}

/** A rule of the event bus. */
export interface RuleRecord {
  readonly name: string;
  readonly pattern: Readonly<Record<string, unknown>>;
  /** The ARNs of the rule's target queues, by target id. */
  readonly targets: Map<string, string>;
}

/** The changes of an instance that are reported to the kubelets. */
export type InstanceChange =
  | "pending"
  | "running"
  | "interruption-notice"
  | "stopping"
  | "stopped"
  | "rebooted"
  | "shutting-down"
  | "terminated";

/** A fleet of the type `instant`. */
export interface FleetRecord {
  readonly id: string;
  readonly createdMs: number;
  readonly instanceIds: readonly string[];
}

/** How long a machine's changes take, in milliseconds. */
export interface InstanceTimings {
  /** Time from launch to `running`. */
  readonly pendingMs: number;
  /** Time from the call to terminate until `terminated`. */
  readonly shuttingDownMs: number;
  /** How long a terminated instance can still be described. */
  readonly forgetAfterMs: number;
}

/** The whole account. Calls read and change it within one turn. */
export interface AwsState {
  readonly clock: Clock;
  readonly timings: InstanceTimings;
  /** Reports a change of an instance to the simulated kubelets. */
  readonly notify: (record: InstanceRecord, change: InstanceChange) => void;
  readonly trace: Trace | undefined;
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly faults: Faults;
  readonly region: string;
  readonly accountId: string;
  readonly clusterName: string;
  readonly vpcId: string;
  readonly zones: readonly AvailabilityZone[];
  /** The seed of spot prices and pool depths. */
  readonly spotSeed: number;
  readonly cluster: EksCluster;
  readonly subnets: Map<string, SubnetRecord>;
  readonly securityGroups: Map<string, SecurityGroupRecord>;
  readonly images: Map<string, ImageRecord>;
  readonly parameters: Map<string, string>;
  readonly roles: Map<string, RoleRecord>;
  readonly profiles: Map<string, ProfileRecord>;
  readonly launchTemplates: Map<string, LaunchTemplateRecord>;
  readonly launchTemplateIdByName: Map<string, string>;
  readonly instances: Map<string, InstanceRecord>;
  readonly volumes: Map<string, VolumeRecord>;
  readonly fleets: Map<string, FleetRecord>;
  readonly capacityReservations: Map<string, CapacityReservation>;
  readonly placementGroups: Map<string, PlacementGroup>;
  /** Results of failing status checks, by instance. */
  readonly impaired: Map<string, Omit<InstanceStatus, "InstanceId">>;
  /** Tags of EC2 resources by id. IAM resources have their own. */
  readonly tags: Map<string, Map<string, string>>;
  /** `type/zone` pairs that are not offered. */
  readonly notOffered: Set<string>;
  /** The IAM policy of Karpenter's role. Absent: everything is allowed. */
  policy: PolicyDocument | undefined;
  /** SQS queues by name. */
  readonly queues: Map<string, Queue>;
  /** EventBridge rules by name. */
  readonly rules: Map<string, RuleRecord>;
  /** ARC zonal shifts of the cluster by id, oldest first. */
  readonly zonalShifts: Map<string, ShiftRecord>;
  /** A separate random stream for ids of messages, so that messages do not change other random numbers. */
  readonly messageIds: Random;
}

/** An EC2 resource id: a prefix and 17 hexadecimal digits. */
export function newId(state: AwsState, prefix: string): string {
  return `${prefix}-${state.random.hex(17)}`;
}

/** The tags of a resource, sorted by key. */
export function tagsOf(state: AwsState, id: string): Tag[] {
  return tagList(state.tags.get(id));
}

/** A tag table as AWS lists it, sorted by key. */
export function tagList(tags: ReadonlyMap<string, string> | undefined): Tag[] {
  if (tags === undefined) return [];
  return [...tags]
    .map(([Key, Value]) => ({ Key, Value }))
    .sort((a, b) => (a.Key < b.Key ? -1 : a.Key > b.Key ? 1 : 0));
}

/** Adds or overwrites tags of a resource. Keys are not checked here. */
export function setTags(state: AwsState, id: string, tags: readonly Tag[]): void {
  if (tags.length === 0) return;
  let table = state.tags.get(id);
  if (table === undefined) {
    table = new Map();
    state.tags.set(id, table);
  }
  for (const tag of tags) table.set(tag.Key, tag.Value ?? "");
}

/** RFC 3339 with milliseconds, as EC2 writes times. */
export function awsTime(ms: number): string {
  return new Date(ms).toISOString();
}
