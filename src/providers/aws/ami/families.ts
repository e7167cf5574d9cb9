/**
 * Differences between AMI families: default volumes, the device that backs ephemeral storage, and the number of pods.
 * upstream: pkg/providers/amifamily
 */
import type { BlockDeviceMapping } from "../../../apis/aws/ec2nodeclass.ts";
import type { AmiFamily, AwsClass } from "../../../apis/hub/aws-class.ts";

/** Defaults of an image family: disks, user data format, supported settings. */
export interface FamilyTraits {
  readonly defaultDevices: readonly BlockDeviceMapping[];
  /** The device whose size is the node's ephemeral storage. */
  readonly ephemeralDevice: string | undefined;
  /** Whether kube-reserved memory grows with the pods that network interfaces allow, not with maxPods. */
  readonly reservesByEniPods: boolean;
  readonly honoursPodsPerCore: boolean;
  readonly honoursSoftEviction: boolean;
  readonly eniLimitedPods: boolean;
  readonly os: "linux" | "windows";
  /** The build of Windows. Only for families of Windows. */
  readonly windowsBuild?: string;
}

function gp3(deviceName: string, volumeSize: string): BlockDeviceMapping {
  return { deviceName, ebs: { volumeSize, volumeType: "gp3", encrypted: true } };
}

const LINUX: FamilyTraits = {
  defaultDevices: [gp3("/dev/xvda", "20Gi")],
  ephemeralDevice: "/dev/xvda",
  reservesByEniPods: true,
  honoursPodsPerCore: true,
  honoursSoftEviction: true,
  eniLimitedPods: true,
  os: "linux",
};

const WINDOWS: FamilyTraits = {
  defaultDevices: [gp3("/dev/sda1", "50Gi")],
  ephemeralDevice: "/dev/sda1",
  reservesByEniPods: false,
  honoursPodsPerCore: true,
  honoursSoftEviction: true,
  eniLimitedPods: false,
  os: "windows",
};

const FAMILIES: Readonly<Record<AmiFamily, FamilyTraits>> = {
  AL2: LINUX,
  AL2023: LINUX,
  Ubuntu: {
    ...LINUX,
    defaultDevices: [gp3("/dev/sda1", "20Gi")],
    ephemeralDevice: "/dev/sda1",
  },
  Bottlerocket: {
    ...LINUX,
    defaultDevices: [gp3("/dev/xvda", "6Gi"), gp3("/dev/xvdb", "20Gi")],
    ephemeralDevice: "/dev/xvdb",
    reservesByEniPods: false,
    honoursPodsPerCore: false,
    honoursSoftEviction: false,
  },
  Windows2019: { ...WINDOWS, windowsBuild: "10.0.17763" },
  Windows2022: { ...WINDOWS, windowsBuild: "10.0.20348" },
  Windows2025: { ...WINDOWS, windowsBuild: "10.0.26100" },
  Custom: { ...LINUX, defaultDevices: [], ephemeralDevice: undefined },
};

/** The traits of a family. An unknown name counts as AL2, as upstream does; admission refuses it earlier. */
export function traitsOf(family: AmiFamily): FamilyTraits {
  return FAMILIES[family] ?? FAMILIES.AL2;
}

/** Volumes for a class that names none. Before v1, Bottlerocket's root volume had 4Gi, as upstream's did. */
export function defaultDevices({
  amiFamily,
  generation,
}: Pick<AwsClass, "amiFamily" | "generation">): readonly BlockDeviceMapping[] {
  const [root, ...others] = traitsOf(amiFamily).defaultDevices;
  if (amiFamily !== "Bottlerocket" || generation === "v1" || root === undefined)
    return traitsOf(amiFamily).defaultDevices;
  return [gp3(root.deviceName ?? "", "4Gi"), ...others];
}

/** Why AWS publishes no images of the family for a Kubernetes version (`1.34`). Undefined: it does. */
export function unsupportedFamily(family: AmiFamily, kubernetes: string): string | undefined {
  const minor = Number(kubernetes.split(".")[1]);
  if (family === "AL2" && minor >= 33)
    return `there are no AL2 images for Kubernetes ${kubernetes}, the last ones are for 1.32; use al2023 or bottlerocket`;
  if (family === "Windows2025" && minor < 35)
    return `there are no Windows 2025 images for Kubernetes ${kubernetes}, the first ones are for 1.35; use windows2022`;
  return undefined;
}
