/**
 * How many EBS volumes pods can attach on a node: what EC2 says of the type, less what the machine needs itself. The
 * CSI driver counts on the node in the same way; once a node of the type runs, its CSINode is what counts.
 * karpenter-ts only: upstream has the field and leaves it empty.
 */
import type { BlockDeviceMapping, NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import { traitsOf } from "../ami/families.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

const EBS_DRIVER = "ebs.csi.aws.com";
/** The node's own interface, and the one that the VPC CNI keeps ready. */
const USUAL_INTERFACES = 2;

/** What the class attaches to its machines. */
interface Attached {
  readonly family: AmiFamily;
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
  readonly networkInterfaces: readonly NetworkInterface[];
}

/** By CSI driver; undefined if EC2 does not say how many volumes the type takes. */
export function volumeAttachmentLimits(
  { EbsInfo, InstanceStorageInfo }: InstanceTypeInfo,
  { family, blockDeviceMappings, networkInterfaces }: Attached,
): Readonly<Record<string, number>> | undefined {
  const most = EbsInfo?.MaximumEbsAttachments;
  if (most === undefined) return undefined;
  const devices =
    blockDeviceMappings.length > 0 ? blockDeviceMappings : traitsOf(family).defaultDevices;
  const own = Math.max(1, devices.length);
  // Interfaces and NVMe disks take slots from volumes, unless the type has slots for volumes alone.
  const disks = InstanceStorageInfo?.Disks ?? [];
  const others =
    EbsInfo?.AttachmentLimitType === "dedicated"
      ? 0
      : Math.max(USUAL_INTERFACES, networkInterfaces.length) +
        disks.reduce((sum, { Count = 0 }) => sum + Count, 0);
  return { [EBS_DRIVER]: Math.max(0, most - own - others) };
}
