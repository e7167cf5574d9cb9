/**
 * Whether EBS can create the volumes of a launch: which volume types allow IOPS and throughput, and the
 * limits and ratios of the EBS user guide. EC2 checks this at launch, not when a template is created.
 */
import { fieldOf } from "../../../base/json.ts";
import type { BlockDeviceMapping } from "../../../providers/aws/api/launches.ts";

type Bounds = readonly [least: number, most: number];

interface VolumeType {
  readonly sizeGib: Bounds;
  /** The bounds of IOPS. Absent: the type allows no IOPS setting. */
  readonly iops?: Bounds;
  readonly mostIopsPerGib?: number;
  /** IOPS that a volume of any size may have. */
  readonly freeIops?: number;
  readonly needsIops?: boolean;
  readonly throughput?: Bounds;
}

const TYPES: Readonly<Record<string, VolumeType>> = {
  gp2: { sizeGib: [1, 16_384] },
  gp3: {
    sizeGib: [1, 65_536],
    iops: [3_000, 80_000],
    mostIopsPerGib: 500,
    freeIops: 3_000,
    throughput: [125, 2_000],
  },
  io1: { sizeGib: [4, 16_384], iops: [100, 64_000], mostIopsPerGib: 50, needsIops: true },
  io2: { sizeGib: [4, 65_536], iops: [100, 256_000], mostIopsPerGib: 1_000, needsIops: true },
  st1: { sizeGib: [125, 16_384] },
  sc1: { sizeGib: [125, 16_384] },
  standard: { sizeGib: [1, 1_024] },
};

const MOST_THROUGHPUT_PER_IOPS = 0.25;

/** An error of EC2 about a volume. */
export interface VolumeRefusal {
  readonly code: string;
  readonly message: string;
}

/**
 * The first error of these devices, which are those of the image and the template together. Undefined if all
 * are valid.
 */
export function volumeRefusal(devices: readonly BlockDeviceMapping[]): VolumeRefusal | undefined {
  for (const { Ebs } of devices) {
    const refusal = Ebs === undefined ? undefined : refusalOf(Ebs);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function refusalOf(ebs: NonNullable<BlockDeviceMapping["Ebs"]>): VolumeRefusal | undefined {
  const { VolumeType = "gp2", VolumeSize, Iops, Throughput } = ebs;
  const type = fieldOf(TYPES, VolumeType);
  if (type === undefined) return value(`Invalid value '${VolumeType}' for VolumeType.`);
  if (Iops !== undefined && type.iops === undefined) return unsupported("iops", VolumeType);
  if (Throughput !== undefined && type.throughput === undefined)
    return unsupported("throughput", VolumeType);
  if (Iops === undefined && type.needsIops === true) {
    const message = `The request must contain the parameter iops for volume type ${VolumeType}`;
    return { code: "MissingParameter", message };
  }
  return (
    outside("size", "GiB", VolumeSize, type.sizeGib) ??
    outside("iops", "", Iops, type.iops) ??
    outside("throughput", "MiB/s", Throughput, type.throughput) ??
    ratioRefusal(type, VolumeSize, Iops, Throughput)
  );
}

function ratioRefusal(
  { mostIopsPerGib = Number.POSITIVE_INFINITY, freeIops = 0 }: VolumeType,
  sizeGib: number | undefined,
  iops: number | undefined,
  throughput: number | undefined,
): VolumeRefusal | undefined {
  if (sizeGib !== undefined && iops !== undefined && iops > freeIops) {
    const ratio = iops / sizeGib;
    if (ratio > mostIopsPerGib)
      return value(
        `Iops to volume size ratio of ${ratio.toFixed(6)} is too high; maximum is ${mostIopsPerGib}`,
      );
  }
  if (throughput === undefined) return undefined;
  const ratio = throughput / (iops ?? freeIops);
  if (ratio <= MOST_THROUGHPUT_PER_IOPS) return undefined;
  return value(
    `Throughput (MiBps) to iops ratio of ${ratio.toFixed(6)} is too high; maximum is ${MOST_THROUGHPUT_PER_IOPS} MiBps per iops`,
  );
}

function outside(
  what: string,
  unit: string,
  actual: number | undefined,
  bounds: Bounds | undefined,
): VolumeRefusal | undefined {
  if (actual === undefined || bounds === undefined) return undefined;
  const [least, most] = bounds;
  if (actual < least)
    return value(`Volume ${what} of ${actual}${unit} is too low; minimum is ${least}${unit}`);
  if (actual > most)
    return value(`Volume ${what} of ${actual}${unit} is too high; maximum is ${most}${unit}`);
  return undefined;
}

function value(message: string): VolumeRefusal {
  return { code: "InvalidParameterValue", message };
}

function unsupported(parameter: string, type: string): VolumeRefusal {
  const message = `The parameter ${parameter} is not supported for ${type} volumes.`;
  return { code: "InvalidParameterCombination", message };
}
