/**
 * The content of a launch template, from class, image, user data and capacity type. Pure. The name is a hash of the
 * content, so equal launches share a template and a changed class gets a new one.
 * upstream: pkg/providers/launchtemplate
 */
import type { BlockDeviceMapping as ClassDevice } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { contentHash } from "../../../apis/karpenter/nodepool-hash.ts";
import { parseUnits } from "../../../base/quantity.ts";
import type { CapacityType } from "../../../core/cloudprovider/instance-type.ts";
import { defaultDevices } from "../ami/families.ts";
import type {
  BlockDeviceMapping,
  CreateLaunchTemplateInput,
  LaunchTemplateData,
} from "../api/launches.ts";
import type { CpuChoice } from "../instancetype/cpu-options.ts";
import { type Tags, TEMPLATE_CLUSTER_TAG, toTagList } from "../tags/tags.ts";
import type { Bootstrap } from "../userdata/bootstrap.ts";
import { userData } from "../userdata/user-data.ts";

const GIB = 1_073_741_824;
/**
 * Regions whose EC2 lacks the field for IPv6 metadata.
 * upstream: pkg/providers/launchtemplate
 */
const WITHOUT_IPV6_METADATA: ReadonlySet<string> = new Set([
  "us-iso-east-1",
  "us-iso-west-1",
  "us-isob-east-1",
  "us-isob-west-1",
  "us-isof-south-1",
  "us-isof-east-1",
]);

/** Everything that the content of a launch template depends on. */
export interface TemplateInput {
  readonly nodeClass: AwsClass;
  readonly clusterName: string;
  readonly region: string;
  readonly imageId: string;
  readonly bootstrap: Bootstrap;
  readonly securityGroupIds: readonly string[];
  readonly instanceProfile: string;
  readonly capacityType: CapacityType;
  /** The reservation to launch into. */
  readonly reservation?: { readonly id: string; readonly kind: string } | undefined;
  /** Whether the template says anything about reservations: for v1 with the gate on. */
  readonly reservedCapacity?: boolean;
  readonly tenancy?: "default" | "dedicated" | undefined;
  readonly placement?: { readonly groupId: string; readonly partition?: number } | undefined;
  /** Number of EFA interfaces. 0: the usual single interface. */
  readonly efaCount: number;
  /** Whether no subnet of the class assigns public addresses. */
  readonly privateSubnets: boolean;
  readonly ipv6: boolean;
  /** The numbers of cores and threads, if the class chooses them. */
  readonly cpu?: CpuChoice | undefined;
  /** Whether the instance must be able to run Nitro enclaves. */
  readonly enclaves?: boolean;
  /** Tags of the instances and volumes of the launch. */
  readonly tags: Tags;
}

/** How the names of all launch templates begin, upstream's, too. */
export const TEMPLATE_PREFIX = "karpenter.k8s.aws/";

/**
 * The input of CreateLaunchTemplate, with a name from its content. Throws if the user data of the class cannot be
 * merged with Karpenter's.
 */
export function launchTemplate(input: TemplateInput): CreateLaunchTemplateInput {
  const data = templateData(input);
  const tags = { ...input.tags, [TEMPLATE_CLUSTER_TAG]: input.clusterName };
  const hash = contentHash([input.nodeClass.id, data, tags]);
  return {
    LaunchTemplateName: `${TEMPLATE_PREFIX}${hash}`,
    LaunchTemplateData: data,
    TagSpecifications: [{ ResourceType: "launch-template", Tags: toTagList(tags) }],
  };
}

function templateData(input: TemplateInput): LaunchTemplateData {
  const { nodeClass, tags, capacityType } = input;
  const devices = blockDevices(nodeClass);
  const options = nodeClass.metadataOptions;
  const tagged = [
    "network-interface",
    ...(capacityType === "spot" ? ["spot-instances-request"] : []),
  ];
  return {
    ...(devices.length === 0 ? {} : { BlockDeviceMappings: devices }),
    IamInstanceProfile: { Name: input.instanceProfile },
    Monitoring: { Enabled: nodeClass.detailedMonitoring },
    ImageId: input.imageId,
    UserData: Buffer.from(userData(nodeClass.amiFamily, input.bootstrap), "utf8").toString(
      "base64",
    ),
    NetworkInterfaces: networkInterfaces(input),
    MetadataOptions: {
      HttpEndpoint: options.httpEndpoint,
      ...(WITHOUT_IPV6_METADATA.has(input.region)
        ? {}
        : { HttpProtocolIpv6: options.httpProtocolIPv6 }),
      HttpPutResponseHopLimit: options.httpPutResponseHopLimit,
      HttpTokens: options.httpTokens,
      InstanceMetadataTags: "disabled",
    },
    ...placementOf(input),
    ...cpuOptionsOf(input),
    ...(input.enclaves === true ? { EnclaveOptions: { Enabled: true } } : {}),
    ...reservationOf(input),
    TagSpecifications: tagged.map((ResourceType) => ({ ResourceType, Tags: toTagList(tags) })),
  };
}

function cpuOptionsOf({ nodeClass, cpu }: TemplateInput): Partial<LaunchTemplateData> {
  const { nestedVirtualization } = nodeClass;
  if (nestedVirtualization === undefined && cpu === undefined) return {};
  const nested =
    nestedVirtualization === undefined ? {} : { NestedVirtualization: nestedVirtualization };
  return { CpuOptions: { ...nested, ...cpu } };
}

function placementOf({ tenancy, placement }: TemplateInput): Partial<LaunchTemplateData> {
  const Placement = {
    // Shared hardware is EC2's default.
    ...(tenancy === "dedicated" ? { Tenancy: tenancy } : {}),
    ...(placement === undefined ? {} : { GroupId: placement.groupId }),
    ...(placement?.partition === undefined ? {} : { PartitionNumber: placement.partition }),
  };
  return Object.keys(Placement).length === 0 ? {} : { Placement };
}

/**
 * The capacity reservation of the instance. Without one the instance must not use open reservations, because others may
 * count on them.
 */
function reservationOf(input: TemplateInput): Partial<LaunchTemplateData> {
  const { reservation, reservedCapacity = false } = input;
  if (!reservedCapacity) return {};
  if (reservation === undefined) {
    return { CapacityReservationSpecification: { CapacityReservationPreference: "none" } };
  }
  const market = MARKETS[reservation.kind];
  return {
    CapacityReservationSpecification: {
      CapacityReservationPreference: "capacity-reservations-only",
      CapacityReservationTarget: { CapacityReservationId: reservation.id },
    },
    ...(market === undefined ? {} : { InstanceMarketOptions: { MarketType: market } }),
  };
}

const MARKETS: Readonly<Record<string, string>> = {
  "capacity-block": "capacity-block",
  interruptible: "interruptible-capacity-reservation",
};

type Interfaces = NonNullable<LaunchTemplateData["NetworkInterfaces"]>;

function networkInterfaces(input: TemplateInput): Interfaces {
  const { efaCount, securityGroupIds: Groups, nodeClass, privateSubnets, ipv6 } = input;
  const own = nodeClass.networkInterfaces;
  const asked = nodeClass.associatePublicIpAddress ?? (privateSubnets ? false : undefined);
  const single = own.length <= 1 && efaCount <= 1;
  const prefixes = nodeClass.ipPrefixCount;
  const tracking = nodeClass.connectionTracking;
  const common = {
    Groups,
    ...(ipv6 ? { Ipv6AddressCount: 1, PrimaryIpv6: true } : {}),
    // EC2 accepts this field only for a single interface.
    ...(asked === undefined || !single ? {} : { AssociatePublicIpAddress: asked }),
    ...(prefixes === undefined || prefixes === 0
      ? {}
      : ipv6
        ? { Ipv6PrefixCount: prefixes }
        : { Ipv4PrefixCount: prefixes }),
    ...(tracking === undefined
      ? {}
      : {
          ConnectionTrackingSpecification: {
            ...(tracking.tcpEstablishedTimeout === undefined
              ? {}
              : { TcpEstablishedTimeout: tracking.tcpEstablishedTimeout }),
            ...(tracking.udpStreamTimeout === undefined
              ? {}
              : { UdpStreamTimeout: tracking.udpStreamTimeout }),
            ...(tracking.udpTimeout === undefined ? {} : { UdpTimeout: tracking.udpTimeout }),
          },
        }),
  };
  if (own.length > 0) {
    return own.map(({ networkCardIndex, deviceIndex, interfaceType }) => ({
      NetworkCardIndex: networkCardIndex,
      DeviceIndex: deviceIndex,
      InterfaceType: interfaceType,
      // An EFA-only interface has no IP addresses.
      ...(interfaceType === "efa-only" ? { Groups } : common),
    }));
  }
  if (efaCount === 0) return [{ DeviceIndex: 0, ...common }];
  return Array.from({ length: efaCount }, (_, card) => ({
    DeviceIndex: card === 0 ? 0 : 1,
    NetworkCardIndex: card,
    InterfaceType: "efa",
    ...common,
  }));
}

/** The volumes of the class, else those of its AMI family. */
function blockDevices(
  nodeClass: Pick<AwsClass, "amiFamily" | "generation" | "blockDeviceMappings">,
): readonly BlockDeviceMapping[] {
  const own = nodeClass.blockDeviceMappings;
  return (own.length > 0 ? own : defaultDevices(nodeClass)).map(toDevice);
}

function toDevice({ deviceName, ebs }: ClassDevice): BlockDeviceMapping {
  const gib = ebs?.volumeSize === undefined ? undefined : parseUnits(ebs.volumeSize);
  const all = {
    DeleteOnTermination: ebs?.deleteOnTermination,
    Encrypted: ebs?.encrypted,
    Iops: ebs?.iops || undefined,
    KmsKeyId: ebs?.kmsKeyID,
    SnapshotId: ebs?.snapshotID,
    Throughput: ebs?.throughput || undefined,
    VolumeInitializationRate: ebs?.volumeInitializationRate,
    VolumeSize: gib === undefined ? undefined : Math.ceil(gib / GIB),
    VolumeType: ebs?.volumeType,
  };
  const Ebs = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return { DeviceName: deviceName ?? "", ...(ebs === undefined ? {} : { Ebs }) };
}
