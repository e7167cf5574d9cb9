/** An instance as DescribeInstances shows it. */
import type { Instance, InstanceStateName } from "../../../providers/aws/api/instances.ts";
import type { AwsState, InstanceRecord } from "../account/state.ts";
import { awsTime, tagsOf } from "../account/state.ts";

/** An instance with fields that Karpenter does not read, but people do. */
export interface InstanceShown extends Instance {
  readonly MetadataOptions: {
    readonly State: string;
    readonly HttpTokens: string;
    readonly HttpPutResponseHopLimit: number;
    readonly HttpEndpoint: string;
    readonly HttpProtocolIpv6: string;
    readonly InstanceMetadataTags: string;
  };
  readonly PublicIpAddress?: string;
  readonly PublicDnsName?: string;
}

const STATE_CODES: Readonly<Record<InstanceStateName, number>> = {
  pending: 0,
  running: 16,
  "shutting-down": 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

/** A state, with EC2's number for it. */
export function stateOf(Name: InstanceStateName): {
  readonly Code: number;
  readonly Name: InstanceStateName;
} {
  return { Code: STATE_CODES[Name], Name };
}

/** True for a terminated instance. It stays visible for an hour. */
export function isGone(record: InstanceRecord): boolean {
  return record.state === "terminated";
}

/** The instance profile of the launch, if instance and profile still exist. */
export function profileOf(
  state: AwsState,
  record: InstanceRecord,
): { readonly Arn: string; readonly Id: string } | undefined {
  const profile = state.profiles.get(record.profileName ?? "");
  if (profile === undefined || isGone(record)) return undefined;
  const Arn = `arn:aws:iam::${state.accountId}:instance-profile${profile.path}${profile.name}`;
  return { Arn, Id: profile.id };
}

/** An instance as EC2 describes it now. */
export function toInstance(state: AwsState, record: InstanceRecord): InstanceShown {
  const image = state.images.get(record.imageId);
  const vpcId = state.subnets.get(record.subnetId)?.vpcId;
  const profile = profileOf(state, record);
  const base: InstanceShown = {
    InstanceId: record.id,
    InstanceType: record.type,
    ImageId: record.imageId,
    State: stateOf(record.state),
    LaunchTime: awsTime(record.launchedMs),
    Placement: {
      AvailabilityZone: record.zone,
      Tenancy: record.data.Placement?.Tenancy ?? "default",
      ...(record.data.Placement?.GroupId === undefined
        ? {}
        : { GroupId: record.data.Placement.GroupId }),
      ...(record.partition === undefined ? {} : { PartitionNumber: record.partition }),
    },
    ...reservedAs(record),
    ...(image === undefined ? {} : { Architecture: image.image.Architecture }),
    ...(record.spotRequestId === undefined
      ? {}
      : { InstanceLifecycle: "spot", SpotInstanceRequestId: record.spotRequestId }),
    MetadataOptions: metadataOf(record),
    Monitoring: { State: record.data.Monitoring?.Enabled === true ? "enabled" : "disabled" },
    SecurityGroups: [],
    Tags: tagsOf(state, record.id),
  };
  // A terminated instance has no network, disks or instance profile.
  if (isGone(record)) return base;
  return {
    ...base,
    SubnetId: record.subnetId,
    ...(vpcId === undefined ? {} : { VpcId: vpcId }),
    PrivateDnsName: record.privateDnsName,
    PrivateIpAddress: record.privateIp,
    ...publicAddress(state, record),
    SecurityGroups: record.securityGroupIds.map((GroupId) => {
      const name = state.securityGroups.get(GroupId)?.name;
      return name === undefined ? { GroupId } : { GroupId, GroupName: name };
    }),
    ...(profile === undefined ? {} : { IamInstanceProfile: profile }),
    BlockDeviceMappings: record.volumeIds.flatMap((VolumeId) => {
      const volume = state.volumes.get(VolumeId);
      if (volume === undefined) return [];
      const Ebs = { VolumeId, DeleteOnTermination: volume.deleteOnTermination };
      return [{ DeviceName: volume.deviceName, Ebs }];
    }),
    NetworkInterfaces: [
      {
        NetworkInterfaceId: record.interfaceId,
        InterfaceType: record.data.NetworkInterfaces?.[0]?.InterfaceType ?? "interface",
        SubnetId: record.subnetId,
      },
    ],
  };
}

function reservedAs({
  capacityReservationId: CapacityReservationId,
  data,
}: InstanceRecord): Partial<Instance> {
  if (CapacityReservationId === undefined) return {};
  const market = data.InstanceMarketOptions?.MarketType;
  return { CapacityReservationId, ...(market === undefined ? {} : { InstanceLifecycle: market }) };
}

/** The metadata options of the launch template, with EC2's defaults for missing ones. */
function metadataOf({ data: { MetadataOptions: asked = {} } }: InstanceRecord) {
  return {
    State: "applied",
    HttpTokens: asked.HttpTokens ?? "optional",
    HttpPutResponseHopLimit: asked.HttpPutResponseHopLimit ?? 1,
    HttpEndpoint: asked.HttpEndpoint ?? "enabled",
    HttpProtocolIpv6: asked.HttpProtocolIpv6 ?? "disabled",
    InstanceMetadataTags: asked.InstanceMetadataTags ?? "disabled",
  };
}

/**
 * The public address, if the instance has one: the first interface's setting decides, or else the subnet's.
 * The address is from a range for documentation.
 */
function publicAddress(state: AwsState, { data, privateIp, subnetId }: InstanceRecord) {
  const asked = data.NetworkInterfaces?.[0]?.AssociatePublicIpAddress;
  if (!(asked ?? state.subnets.get(subnetId)?.isPublic)) return {};
  const PublicIpAddress = privateIp.replace(/^\d+\.\d+/, "198.18");
  const domain = state.region === "us-east-1" ? "compute-1" : `${state.region}.compute`;
  const PublicDnsName = `ec2-${PublicIpAddress.replaceAll(".", "-")}.${domain}.amazonaws.com`;
  return { PublicIpAddress, PublicDnsName };
}
