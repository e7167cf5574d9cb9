/**
 * How many EBS volumes an instance type takes, as DescribeInstanceTypes says: by generation and size, after the numbers
 * that the EBS CSI driver generates from EC2's answers. NVMe disks and accelerators, which take a few of the shared
 * slots, are left out.
 */

interface Machine {
  readonly hyp?: string;
  readonly by?: string;
}

export interface VolumeSlots {
  /** Volumes that can be attached, the root volume among them. */
  readonly MaximumEbsAttachments: number;
  /** `shared`: network interfaces take slots, too. */
  readonly AttachmentLimitType: "shared" | "dedicated";
}

/** Types of an early generation whose slots are for volumes only. */
const EARLY_DEDICATED = /^(?:g6|gr6|f2|p[4-6]|trn2)/;
const NITRO_SHARED = 28;
const XEN_SHARED = 40;
const BARE_METAL_SHARED = 32;
/** The dedicated slots of sizes that have more than the usual number. */
const DEDICATED_BY_SIZE: Readonly<Record<string, number>> = {
  "16xlarge": 48,
  "18xlarge": 48,
  "24xlarge": 64,
  "32xlarge": 88,
  "48xlarge": 128,
  "96xlarge": 128,
  "metal-16xl": 39,
  "metal-24xl": 39,
  "metal-32xl": 79,
  "metal-48xl": 79,
  "metal-96xl": 79,
};
const DEDICATED = 32;

/** The slots of the type, by its name, hypervisor (absent: bare metal) and CPU manufacturer. */
export function volumeSlotsOf(type: string, { hyp, by }: Machine): VolumeSlots {
  const [family = "", size = ""] = type.split(".");
  const generation = Number(/\d+/.exec(family)?.[0]);
  const isDedicated =
    generation >= 8 || (generation === 7 && by !== "aws") || EARLY_DEDICATED.test(family);
  if (isDedicated)
    return {
      MaximumEbsAttachments: DEDICATED_BY_SIZE[size] ?? DEDICATED,
      AttachmentLimitType: "dedicated",
    };
  const shared = hyp === undefined ? BARE_METAL_SHARED : NITRO_SHARED;
  return {
    MaximumEbsAttachments: hyp === "xen" ? XEN_SHARED : shared,
    AttachmentLimitType: "shared",
  };
}
