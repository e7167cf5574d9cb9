/**
 * What a launch template says: a pure function of class, image, user data and capacity type. Its name is
 * a hash of its content, so equal launches share one and a changed class gets another.
 * upstream: pkg/providers/launchtemplate (spec: upstream-aws 3.6)
 */
import type { BlockDeviceMapping as ClassDevice } from "../../../apis/aws/ec2nodeclass.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import { contentHash } from "../../../apis/karpenter/nodepool-hash.ts";
import { parseUnits } from "../../../base/quantity.ts";
import { traitsOf } from "../ami/families.ts";
import type { BlockDeviceMapping, CreateLaunchTemplateInput, LaunchTemplateData } from "../api.ts";
import { type Tags, TEMPLATE_CLUSTER_TAG, toTagList } from "../tags/tags.ts";
import type { Bootstrap } from "../userdata/bootstrap.ts";
import { userData } from "../userdata/user-data.ts";

const GIB = 1_073_741_824;

export interface TemplateInput {
  readonly nodeClass: AwsClass;
  readonly clusterName: string;
  readonly imageId: string;
  readonly bootstrap: Bootstrap;
  readonly securityGroupIds: readonly string[];
  readonly instanceProfile: string;
  readonly capacityType: "on-demand" | "spot";
  /** EFA interfaces to attach; 0 for the usual single one. */
  readonly efaCount: number;
  /** No subnet of the class hands out public addresses. */
  readonly privateSubnets: boolean;
  readonly ipv6: boolean;
  /** Of the launch. */
  readonly tags: Tags;
}

/**
 * The CreateLaunchTemplate call, with the name that its content gives. Throws when the class' user data
 * cannot be merged with ours.
 */
export function launchTemplate(input: TemplateInput): CreateLaunchTemplateInput {
  const data = templateData(input);
  const tags = { ...input.tags, [TEMPLATE_CLUSTER_TAG]: input.clusterName };
  const hash = contentHash([input.nodeClass.id, data, tags]);
  return {
    LaunchTemplateName: `karpenter.k8s.aws/${hash}`,
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
      HttpProtocolIpv6: options.httpProtocolIPv6,
      HttpPutResponseHopLimit: options.httpPutResponseHopLimit,
      HttpTokens: options.httpTokens,
      InstanceMetadataTags: "disabled",
    },
    TagSpecifications: tagged.map((ResourceType) => ({ ResourceType, Tags: toTagList(tags) })),
  };
}

function networkInterfaces(
  input: TemplateInput,
): NonNullable<LaunchTemplateData["NetworkInterfaces"]> {
  const { efaCount, securityGroupIds: Groups, nodeClass, privateSubnets, ipv6 } = input;
  const asked = nodeClass.associatePublicIpAddress ?? (privateSubnets ? false : undefined);
  const common = {
    Groups,
    ...(ipv6 ? { Ipv6AddressCount: 1, PrimaryIpv6: true } : {}),
    // EC2 takes this for single interfaces only.
    ...(asked === undefined || efaCount > 1 ? {} : { AssociatePublicIpAddress: asked }),
  };
  if (efaCount === 0) return [{ DeviceIndex: 0, ...common }];
  return Array.from({ length: efaCount }, (_, card) => ({
    DeviceIndex: card === 0 ? 0 : 1,
    NetworkCardIndex: card,
    InterfaceType: "efa",
    ...common,
  }));
}

/** The class' devices, else the family's. */
export function blockDevices(
  nodeClass: Pick<AwsClass, "amiFamily" | "blockDeviceMappings">,
): readonly BlockDeviceMapping[] {
  const own = nodeClass.blockDeviceMappings;
  return (own.length > 0 ? own : traitsOf(nodeClass.amiFamily).defaultDevices).map(toDevice);
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
    VolumeSize: gib === undefined ? undefined : Math.ceil(gib / GIB),
    VolumeType: ebs?.volumeType,
  };
  const Ebs = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return { DeviceName: deviceName ?? "", ...(ebs === undefined ? {} : { Ebs }) };
}
