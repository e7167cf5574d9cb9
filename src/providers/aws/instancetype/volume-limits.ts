/**
 * How many EBS volumes pods can attach on a node: EC2's limit for the type, minus what the instance itself needs. The
 * CSI driver computes the same (aws-ebs-csi-driver: pkg/driver/node.go, pkg/cloud/limits). Once a node runs, its CSINode
 * counts instead. karpenter-ts only: upstream has the field and leaves it empty.
 */
import type { BlockDeviceMapping, NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import { traitsOf } from "../ami/families.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";

const EBS_DRIVER = "ebs.csi.aws.com";
/** The node's own network interface, and one that the VPC CNI keeps ready. */
const USUAL_INTERFACES = 2;

/** What the class attaches to each instance. */
interface Attached {
  readonly family: AmiFamily;
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
  readonly networkInterfaces: readonly NetworkInterface[];
}

/** The limit by CSI driver. Undefined: EC2 does not say how many volumes the type takes. */
export function volumeAttachmentLimits(
  { EbsInfo, Hypervisor }: InstanceTypeInfo,
  { family, blockDeviceMappings, networkInterfaces }: Attached,
): Readonly<Record<string, number>> | undefined {
  const most = EbsInfo?.MaximumEbsAttachments;
  if (most === undefined) return undefined;
  const devices =
    blockDeviceMappings.length > 0 ? blockDeviceMappings : traitsOf(family).defaultDevices;
  const own = Math.max(1, devices.length);
  // EC2's number leaves out the first network interface, NVMe disks and GPUs. Further interfaces take slots of volumes,
  // except on types with slots for volumes only. EC2 calls Xen types shared, although interfaces take no slots there.
  const isShared = EbsInfo?.AttachmentLimitType !== "dedicated" && Hypervisor !== "xen";
  const interfaces = isShared ? Math.max(USUAL_INTERFACES, networkInterfaces.length) - 1 : 0;
  return { [EBS_DRIVER]: Math.max(0, most - own - interfaces) };
}
