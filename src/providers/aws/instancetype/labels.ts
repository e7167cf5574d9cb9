/**
 * The labels of a node of a type, as far as the type decides them. A label that cannot be derived has no value, which
 * means "must not exist".
 * upstream: computeRequirements
 */
import * as aws from "../../../apis/aws/labels.ts";
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import type { Generation } from "../../../apis/hub/generation.ts";
import {
  ARCH_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  CAPACITY_TYPE_RESERVED,
  INSTANCE_TYPE_LABEL_KEY,
  OS_LABEL_KEY,
  TOPOLOGY_REGION_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
  WINDOWS_BUILD_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { traitsOf } from "../ami/families.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import type { CatalogueRow } from "../catalogue/catalogue.ts";
import type { Reservation } from "../reservation/reservations.ts";

/** Where the type is offered, for its labels. */
export interface OfferedPlaces {
  readonly region: string;
  /** Zones that offer the type and have a subnet of the class. */
  readonly zones: readonly string[];
  /** The ids of these zones that are known. */
  readonly zoneIds: readonly string[];
  readonly family: AmiFamily;
  readonly generation: Generation;
  /** Values from the class's capacity reservations of this type. Without reservations the lists are empty. */
  readonly reservations: ReservationLabels;
  /** Values from the placement group of the class. Without a group the lists are empty. */
  readonly placementGroup: {
    readonly ids: readonly string[];
    readonly partitions: readonly string[];
  };
  /** v1alpha5's label for pod density; later generations have none. */
  readonly pods: number | undefined;
}

/** Values from the reservations of a type, for its labels. */
interface ReservationLabels {
  readonly ids: readonly string[];
  readonly types: readonly string[];
  readonly interruptible: readonly string[];
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", arm64: "arm64" };
/** Matches types such as `m5.large` and `u-6tb1.metal`: category and generation. */
const FAMILY_PATTERN = /^([a-z]+)(-[0-9]+tb)?([0-9]+).*\./;

/** `amd64` or `arm64`; undefined for types of other architectures, such as 32-bit or macOS. */
export function archOf(info: InstanceTypeInfo): string | undefined {
  for (const arch of info.ProcessorInfo.SupportedArchitectures) {
    if (ARCHITECTURES[arch] !== undefined) return ARCHITECTURES[arch];
  }
  return undefined;
}

/** The capacity types in which the type is sold. A few types are not sold as spot. */
export function capacityTypesOf(info: InstanceTypeInfo): readonly ("on-demand" | "spot")[] {
  return (["on-demand", "spot"] as const).filter((one) => info.SupportedUsageClasses.includes(one));
}

/** All values that each label of a node of this type can have. */
export function labelsOf(
  info: InstanceTypeInfo,
  row: CatalogueRow | undefined,
  place: OfferedPlaces,
): Readonly<Record<string, readonly string[]>> {
  const name = info.InstanceType;
  const [family = "", size = ""] = name.split(".");
  const match = FAMILY_PATTERN.exec(name);
  const arch = archOf(info);
  const traits = traitsOf(place.family);
  const windows = traits.os === "windows";
  const mhz = info.ProcessorInfo.SustainedClockSpeedInGhz;
  return Object.freeze({
    [INSTANCE_TYPE_LABEL_KEY]: [name],
    [ARCH_LABEL_KEY]: one(arch),
    [OS_LABEL_KEY]: windows ? one(arch === "amd64" ? "windows" : undefined) : ["linux"],
    ...(windows ? { [WINDOWS_BUILD_LABEL_KEY]: one(traits.windowsBuild) } : {}),
    [TOPOLOGY_ZONE_LABEL_KEY]: place.zones,
    ...(place.zoneIds.length === 0 ? {} : { [aws.LABEL_TOPOLOGY_ZONE_ID]: place.zoneIds }),
    [TOPOLOGY_REGION_LABEL_KEY]: [place.region],
    [CAPACITY_TYPE_LABEL_KEY]: [
      ...capacityTypesOf(info),
      ...(place.reservations.ids.length > 0 ? [CAPACITY_TYPE_RESERVED] : []),
    ],
    [aws.LABEL_INSTANCE_CPU]: number(info.VCpuInfo.DefaultVCpus),
    [aws.LABEL_INSTANCE_CPU_MANUFACTURER]: one(slug(info.ProcessorInfo.Manufacturer)),
    [aws.LABEL_INSTANCE_CPU_SUSTAINED_CLOCK_SPEED_MHZ]: number(
      mhz === undefined ? undefined : Math.round(mhz * 1_000),
    ),
    [aws.LABEL_INSTANCE_MEMORY]: number(info.MemoryInfo.SizeInMiB),
    [aws.LABEL_INSTANCE_EBS_BANDWIDTH]: number(ebsBandwidth(info)),
    [aws.LABEL_INSTANCE_NETWORK_BANDWIDTH]: number(row?.net),
    [aws.LABEL_INSTANCE_CATEGORY]: one(match?.[1]),
    [aws.LABEL_INSTANCE_GENERATION]: one(match?.[3]),
    [aws.LABEL_INSTANCE_FAMILY]: one(family),
    [aws.LABEL_INSTANCE_SIZE]: one(size),
    [aws.LABEL_INSTANCE_CAPABILITY_FLEX]: [String(family.includes("-flex"))],
    [aws.LABEL_INSTANCE_LOCAL_NVME]: number(localNvme(info)),
    ...(place.pods === undefined ? {} : { [aws.LABEL_INSTANCE_PODS]: number(place.pods) }),
    [aws.LABEL_INSTANCE_HYPERVISOR]: [info.Hypervisor ?? ""],
    [aws.LABEL_INSTANCE_ENCRYPTION_IN_TRANSIT]: [
      String(info.NetworkInfo.EncryptionInTransitSupported ?? false),
    ],
    [aws.LABEL_CAPACITY_RESERVATION_ID]: place.reservations.ids,
    ...(place.generation === "v1" ? newLabels(info, place) : {}),
    ...gpuLabels(info),
    ...acceleratorLabels(info),
  });
}

/** Labels that exist since v1. */
function newLabels(
  info: InstanceTypeInfo,
  place: OfferedPlaces,
): Record<string, readonly string[]> {
  return {
    [aws.LABEL_NITRO_SANDBOX]: info.NitroEnclavesSupport === "supported" ? ["true"] : [],
    [aws.LABEL_INSTANCE_TENANCY]: ["default", "dedicated"],
    [aws.LABEL_CAPACITY_RESERVATION_TYPE]: place.reservations.types,
    [aws.LABEL_CAPACITY_RESERVATION_INTERRUPTIBLE]: place.reservations.interruptible,
    [aws.LABEL_PLACEMENT_GROUP_ID]: place.placementGroup.ids,
    [aws.LABEL_PLACEMENT_GROUP_PARTITION]: place.placementGroup.partitions,
  };
}

/** GPU labels. A type with several models of GPU has none. */
function gpuLabels(info: InstanceTypeInfo): Record<string, readonly string[]> {
  const gpus = info.GpuInfo?.Gpus ?? [];
  const gpu = gpus.length === 1 ? gpus[0] : undefined;
  return {
    [aws.LABEL_INSTANCE_GPU_NAME]: one(slug(gpu?.Name)),
    [aws.LABEL_INSTANCE_GPU_MANUFACTURER]: one(slug(gpu?.Manufacturer)),
    [aws.LABEL_INSTANCE_GPU_COUNT]: number(gpu?.Count),
    [aws.LABEL_INSTANCE_GPU_MEMORY]: number(gpu?.MemoryInfo?.SizeInMiB),
  };
}

function acceleratorLabels(info: InstanceTypeInfo): Record<string, readonly string[]> {
  const inference = info.InferenceAcceleratorInfo?.Accelerators ?? [];
  const neuron = info.NeuronInfo?.NeuronDevices ?? [];
  const device =
    neuron.length === 1
      ? { Manufacturer: "aws", ...neuron[0] }
      : inference.length === 1
        ? inference[0]
        : undefined;
  return {
    [aws.LABEL_INSTANCE_ACCELERATOR_NAME]: one(slug(device?.Name)),
    [aws.LABEL_INSTANCE_ACCELERATOR_MANUFACTURER]: one(slug(device?.Manufacturer)),
    [aws.LABEL_INSTANCE_ACCELERATOR_COUNT]: number(device?.Count),
  };
}

function ebsBandwidth(info: InstanceTypeInfo): number | undefined {
  if (info.EbsInfo?.EbsOptimizedSupport !== "default") return undefined;
  return info.EbsInfo.EbsOptimizedInfo?.MaximumBandwidthInMbps;
}

function localNvme(info: InstanceTypeInfo): number | undefined {
  const store = info.InstanceStorageInfo;
  return store === undefined || store.NvmeSupport === "unsupported"
    ? undefined
    : store.TotalSizeInGB;
}

function one(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

function number(value: number | undefined): readonly string[] {
  return value === undefined ? [] : [String(value)];
}

/** A label value from a name: `A10G` → `a10g`, `Annapurna Labs` → `annapurna-labs`. */
function slug(text: string | undefined): string | undefined {
  return text?.toLowerCase().replaceAll(" ", "-");
}

/** The labels of a type's reservations: each value once, sorted. */
export function reservationLabels(own: readonly Reservation[]): ReservationLabels {
  const all = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();
  return {
    ids: all(own.map((one) => one.id)),
    types: all(own.map((one) => one.type)),
    interruptible: all(own.map((one) => String(one.interruptible))),
  };
}
