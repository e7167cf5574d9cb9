import { describe, expect, it } from "vitest";
import type { NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { volumeAttachmentLimits } from "./volume-limits.ts";

const NONE = { family: "AL2023", blockDeviceMappings: [], networkInterfaces: [] } as const;

function limitOf(
  EbsInfo: InstanceTypeInfo["EbsInfo"],
  attached: Partial<Parameters<typeof volumeAttachmentLimits>[1]> = {},
  disks = 0,
): number | undefined {
  const InstanceStorageInfo = { TotalSizeInGB: 0, Disks: [{ Count: disks }] };
  const info = { EbsInfo, InstanceStorageInfo } as unknown as InstanceTypeInfo;
  return volumeAttachmentLimits(info, { ...NONE, ...attached })?.["ebs.csi.aws.com"];
}

describe("the number of volumes that pods can attach", () => {
  const shared = { MaximumEbsAttachments: 28, AttachmentLimitType: "shared" };
  const dedicated = { MaximumEbsAttachments: 64, AttachmentLimitType: "dedicated" };
  const card = (networkCardIndex: number): NetworkInterface => ({
    ...{ networkCardIndex, deviceIndex: networkCardIndex === 0 ? 0 : 1 },
    interfaceType: networkCardIndex === 0 ? "interface" : "efa-only",
  });

  it("is EC2's limit minus the node's own disks, and minus network interfaces that share the slots", () => {
    expect(limitOf(shared)).toBe(25);
    expect(limitOf(shared, {}, 4)).toBe(21);
    expect(limitOf(shared, { networkInterfaces: [0, 1, 2, 3].map(card) })).toBe(23);
    expect(limitOf(dedicated)).toBe(63);
    expect(limitOf(dedicated, { family: "Bottlerocket" }, 4)).toBe(62);
    const blockDeviceMappings = ["/dev/xvda", "/dev/xvdb", "/dev/xvdc"].map((deviceName) => ({
      deviceName,
    }));
    expect(limitOf(dedicated, { blockDeviceMappings })).toBe(61);
  });

  it("is not limited if EC2 gives no limit, and never negative", () => {
    expect(limitOf(undefined)).toBeUndefined();
    expect(limitOf({ EbsOptimizedSupport: "default" })).toBeUndefined();
    expect(limitOf({ MaximumEbsAttachments: 2 })).toBe(0);
  });
});
