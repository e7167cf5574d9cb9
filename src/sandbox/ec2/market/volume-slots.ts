/**
 * How many EBS volumes an instance type takes, as DescribeInstanceTypes says: by generation and size, after the numbers
 * that the EBS CSI driver generates from EC2's answers. The first network interface is left out. The catalogue does not
 * count NVMe disks, so a type with several disks takes a few volumes less than this says.
 */

interface Machine {
  readonly hyp?: string;
  readonly by?: string;
  /** GB of all NVMe disks. */
  readonly nvme?: number;
  readonly gpu?: readonly [name: string, manufacturer: string, count: number, memoryMib: number];
  readonly acc?: readonly [name: string, manufacturer: string, count: number, cores: number];
}

export interface VolumeSlots {
  /** Volumes that can be attached, the root volume among them. */
  readonly MaximumEbsAttachments: number;
  /** `shared`: further network interfaces take slots, too. */
  readonly AttachmentLimitType: "shared" | "dedicated";
}

/** Types of an early generation whose slots are for volumes only. */
const EARLY_DEDICATED = /^(?:g6|gr6|f2|p[4-6]|trn2)/;
/** The largest size of types with many GPUs or accelerators. */
const LARGEST_WITH_CARDS = /^(?:p[56].*|trn2)\.48xlarge$/;
const LARGEST_WITH_CARDS_SLOTS = 64;
const P4 = /^p4/;
const P4_SLOTS = 28;
/** 28 slots, without the first network interface. */
const NITRO_SHARED = 27;
const XEN_SHARED = 40;
const BARE_METAL_SHARED = 31;
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

/** The slots of the type, by its name, hypervisor (absent: bare metal), CPU manufacturer and devices. */
export function volumeSlotsOf(type: string, machine: Machine): VolumeSlots {
  const { hyp, by } = machine;
  const [family = "", size = ""] = type.split(".");
  const generation = Number(/\d+/.exec(family)?.[0]);
  const isDedicated =
    generation >= 8 || (generation === 7 && by !== "aws") || EARLY_DEDICATED.test(family);
  if (isDedicated)
    return {
      MaximumEbsAttachments: dedicatedSlots(type, size),
      AttachmentLimitType: "dedicated",
    };
  const shared = hyp === undefined ? BARE_METAL_SHARED : NITRO_SHARED - devicesOf(machine);
  return {
    MaximumEbsAttachments: hyp === "xen" ? XEN_SHARED : shared,
    AttachmentLimitType: "shared",
  };
}

function dedicatedSlots(type: string, size: string): number {
  if (P4.test(type)) return P4_SLOTS;
  return LARGEST_WITH_CARDS.test(type)
    ? LARGEST_WITH_CARDS_SLOTS
    : (DEDICATED_BY_SIZE[size] ?? DEDICATED);
}

/** How many shared slots the devices take: one for each GPU and accelerator, and one for all NVMe disks. */
function devicesOf({ nvme = 0, gpu, acc }: Machine): number {
  return (gpu?.[2] ?? 0) + (acc?.[2] ?? 0) + (nvme > 0 ? 1 : 0);
}
