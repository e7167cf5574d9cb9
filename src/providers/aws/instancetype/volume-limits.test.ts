import { describe, expect, it } from "vitest";
import type { NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { volumeAttachmentLimits } from "./volume-limits.ts";

const NONE = { family: "AL2023", blockDeviceMappings: [], networkInterfaces: [] } as const;

function limitOf(
  EbsInfo: InstanceTypeInfo["EbsInfo"],
  attached: Partial<Parameters<typeof volumeAttachmentLimits>[1]> = {},
  Hypervisor = "nitro",
): number | undefined {
  const info = { EbsInfo, Hypervisor } as unknown as InstanceTypeInfo;
  return volumeAttachmentLimits(info, { ...NONE, ...attached })?.["ebs.csi.aws.com"];
}

describe("the number of volumes that pods can attach", () => {
  /** As EC2 answers for m5.large: 28 slots, one of them for the first network interface. */
  const shared = { MaximumEbsAttachments: 27, AttachmentLimitType: "shared" };
  const dedicated = { MaximumEbsAttachments: 64, AttachmentLimitType: "dedicated" };
  const card = (networkCardIndex: number): NetworkInterface => ({
    ...{ networkCardIndex, deviceIndex: networkCardIndex === 0 ? 0 : 1 },
    interfaceType: networkCardIndex === 0 ? "interface" : "efa-only",
  });

  it("is EC2's limit minus the node's own disks, and minus further interfaces that share the slots", () => {
    expect(limitOf(shared)).toBe(25);
    expect(limitOf(shared, { networkInterfaces: [0, 1, 2, 3].map(card) })).toBe(23);
    expect(limitOf(dedicated)).toBe(63);
    expect(limitOf(dedicated, { family: "Bottlerocket" })).toBe(62);
    const blockDeviceMappings = ["/dev/xvda", "/dev/xvdb", "/dev/xvdc"].map((deviceName) => ({
      deviceName,
    }));
    expect(limitOf(dedicated, { blockDeviceMappings })).toBe(61);
  });

  it("counts NVMe disks once, as EC2's limit does", () => {
    // m5d.large: one disk.
    expect(limitOf({ MaximumEbsAttachments: 26, AttachmentLimitType: "shared" })).toBe(24);
  });

  it("counts no interfaces on Xen types, where EC2's limit is for volumes only", () => {
    const t2 = { MaximumEbsAttachments: 40, AttachmentLimitType: "shared" };
    expect(limitOf(t2, {}, "xen")).toBe(39);
  });

  it("is not limited if EC2 gives no limit, and never negative", () => {
    expect(limitOf(undefined)).toBeUndefined();
    expect(limitOf({ EbsOptimizedSupport: "default" })).toBeUndefined();
    expect(limitOf({ MaximumEbsAttachments: 2 })).toBe(0);
  });
});
