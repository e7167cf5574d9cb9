/**
 * The capacity of a node of a type, and what the system reserves of it. It is computed before such a node exists, so
 * that the planner and the kubelet arrive at the same numbers.
 * upstream: pkg/providers/instancetype/types.go
 */
import type { BlockDeviceMapping, NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { AmiFamily } from "../../../apis/hub/aws-class.ts";
import type { KubeletConfiguration, ResolvedKubelet } from "../../../apis/karpenter/kubelet.ts";
import { addResources, parseResources, type Resources } from "../../../apis/resources.ts";
import { parseUnits } from "../../../base/quantity.ts";
import { traitsOf } from "../ami/families.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import type { CatalogueRow } from "../catalogue/catalogue.ts";

const MIB = 1_048_576;
const GIB = 1_073_741_824;
const DEFAULT_STORAGE = 20 * GIB;
/**
 * Pods on a node that is not limited by network interfaces.
 * upstream: kubelet's default
 */
const DEFAULT_PODS = 110;
/** Memory that EC2 takes from arm64 instances, beyond the general share. */
const ARM64_RESERVED_MIB = 64;
/**
 * Share of the cores that kube-reserved takes, by band: 6 % of the first core, 1 % of the second, 0.5 % of the next
 * two, 0.25 % of the rest. `upTo` is in milli-cores.
 */
const CPU_BANDS: readonly { readonly upTo: number; readonly share: number }[] = [
  { upTo: 1_000, share: 0.06 },
  { upTo: 2_000, share: 0.01 },
  { upTo: 4_000, share: 0.005 },
  { upTo: Number.POSITIVE_INFINITY, share: 0.0025 },
];

/** Settings of class, pool and controller that change the capacity of a type. */
export interface CapacitySettings {
  readonly family: AmiFamily;
  readonly blockDeviceMappings: readonly BlockDeviceMapping[];
  readonly instanceStorePolicy: "RAID0" | undefined;
  readonly kubelet: ResolvedKubelet | undefined;
  /** Whether the soft eviction threshold is reserved if it is above the hard one, as before v1. */
  readonly countsSoftEviction: boolean;
  /** Share of memory that the hypervisor takes, such as 0.075. */
  readonly vmMemoryOverhead: number;
  readonly reservedEnis: number;
  readonly eniLimitedPods: boolean;
  /** Whether the capacity lists network interfaces for single pods. */
  readonly podEni: boolean;
  /** The interfaces of the node class. Empty: the usual one. */
  readonly networkInterfaces: readonly NetworkInterface[];
}

/** Capacity of a node of the type, before overhead. Memory is a little less than the hardware's. */
export function capacityOf(
  info: InstanceTypeInfo,
  row: CatalogueRow | undefined,
  settings: CapacitySettings,
): Resources {
  const amounts: Record<string, number> = {
    cpu: info.VCpuInfo.DefaultVCpus * 1_000,
    memory: memoryBytes(info, settings.vmMemoryOverhead),
    "ephemeral-storage": storageBytes(info, settings),
    pods: podCount(info, settings),
    "vpc.amazonaws.com/pod-eni": settings.podEni ? (row?.branch ?? 0) : 0,
    "vpc.amazonaws.com/efa": efaInterfaces(info, settings.networkInterfaces),
    "nvidia.com/gpu": gpus(info, "NVIDIA"),
    "amd.com/gpu": gpus(info, "AMD"),
    "habana.ai/gaudi": gpus(info, "Habana"),
    "aws.amazon.com/neuron": neuronDevices(info),
    "aws.amazon.com/neuroncore": neuronCores(info),
  };
  if (traitsOf(settings.family).os === "windows") {
    amounts["vpc.amazonaws.com/PrivateIPv4Address"] =
      info.NetworkInfo.Ipv4AddressesPerInterface - 1;
  }
  return Object.freeze(
    Object.fromEntries(Object.entries(amounts).filter(([name, n]) => n > 0 || name === "pods")),
  );
}

/** The sum of kube-reserved, system-reserved and the eviction threshold. */
export function overheadOf(
  info: InstanceTypeInfo,
  capacity: Resources,
  settings: CapacitySettings,
): Resources {
  const pods = traitsOf(settings.family).reservesByEniPods
    ? eniLimitedPods(info, 0)
    : (capacity["pods"] ?? 0);
  const kubeReserved = {
    cpu: reservedMilliCpu(info.VCpuInfo.DefaultVCpus * 1_000),
    memory: (11 * pods + 255) * MIB,
    "ephemeral-storage": GIB,
    ...known(settings.kubelet?.kubeReserved),
  };
  const systemReserved = known(settings.kubelet?.systemReserved);
  const eviction = {
    memory: evictedAt("memory.available", "100Mi", capacity["memory"] ?? 0, settings),
    "ephemeral-storage": evictedAt(
      "nodefs.available",
      "10%",
      capacity["ephemeral-storage"] ?? 0,
      settings,
    ),
  };
  return Object.freeze(addResources(addResources(kubeReserved, systemReserved), eviction));
}

/**
 * The number of pods that can get an address. One address of each interface of the default card is for the interface
 * itself. Two pods use the host network and need no address.
 */
function eniLimitedPods(info: InstanceTypeInfo, reservedEnis: number): number {
  const { NetworkCards, DefaultNetworkCardIndex = 0 } = info.NetworkInfo;
  const card = NetworkCards?.find((one) => one.NetworkCardIndex === DefaultNetworkCardIndex);
  const interfaces = card?.MaximumNetworkInterfaces ?? info.NetworkInfo.MaximumNetworkInterfaces;
  const usable = interfaces - reservedEnis;
  return usable <= 0 ? 0 : usable * (info.NetworkInfo.Ipv4AddressesPerInterface - 1) + 2;
}

/** How many pods a node runs: limited by maxPods, podsPerCore, or the addresses of its network interfaces. */
export function podCount(info: InstanceTypeInfo, settings: CapacitySettings): number {
  const { kubelet, reservedEnis } = settings;
  const traits = traitsOf(settings.family);
  const byEni = traits.eniLimitedPods && settings.eniLimitedPods;
  // An EFA-only interface on the first card has no addresses for pods.
  const efaOnly = settings.networkInterfaces.filter(
    (one) => one.interfaceType === "efa-only" && one.networkCardIndex === 0,
  ).length;
  const density = byEni ? eniLimitedPods(info, reservedEnis + efaOnly) : DEFAULT_PODS;
  const pods = kubelet?.maxPods ?? density;
  const perCore = kubelet?.podsPerCore ?? 0;
  if (perCore <= 0 || !traits.honoursPodsPerCore) return pods;
  return Math.min(pods, perCore * info.VCpuInfo.DefaultVCpus);
}

function memoryBytes(info: InstanceTypeInfo, overhead: number): number {
  const arm = info.ProcessorInfo.SupportedArchitectures[0] === "arm64";
  const mib = info.MemoryInfo.SizeInMiB - (arm ? ARM64_RESERVED_MIB : 0);
  return (mib - Math.ceil(mib * overhead)) * MIB;
}

function storageBytes(info: InstanceTypeInfo, settings: CapacitySettings): number {
  const storeGb = info.InstanceStorageInfo?.TotalSizeInGB ?? 0;
  if (settings.instanceStorePolicy === "RAID0" && storeGb > 0) return storeGb * 1e9;
  const { ephemeralDevice, defaultDevices } = traitsOf(settings.family);
  const devices = settings.blockDeviceMappings;
  const root = devices.find((device) => device.rootVolume === true);
  if (root !== undefined) return volumeBytes(root);
  if (settings.family === "Custom") {
    const last = devices.at(-1);
    return last === undefined ? DEFAULT_STORAGE : volumeBytes(last);
  }
  const own = devices.find((device) => device.deviceName === ephemeralDevice);
  if (own !== undefined) return volumeBytes(own);
  const byDefault = defaultDevices.find((device) => device.deviceName === ephemeralDevice);
  return byDefault === undefined || devices.length > 0 ? DEFAULT_STORAGE : volumeBytes(byDefault);
}

function volumeBytes(device: BlockDeviceMapping): number {
  const size = device.ebs?.volumeSize;
  return size === undefined ? DEFAULT_STORAGE : (parseUnits(size) ?? DEFAULT_STORAGE);
}

function reservedMilliCpu(milli: number): number {
  let reserved = 0;
  let from = 0;
  for (const { upTo, share } of CPU_BANDS) {
    if (milli <= from) break;
    reserved += Math.trunc((Math.min(milli, upTo) - from) * share);
    from = upTo;
  }
  return reserved;
}

/** How much of the capacity the kubelet keeps free: as the class says, else the kubelet's default. */
function evictedAt(
  signal: string,
  byDefault: string,
  capacity: number,
  { kubelet, family, countsSoftEviction }: CapacitySettings,
): number {
  const soft = countsSoftEviction && traitsOf(family).honoursSoftEviction;
  const told = [
    kubelet?.evictionHard?.[signal],
    soft ? kubelet?.evictionSoft?.[signal] : undefined,
  ].filter((one) => one !== undefined);
  const texts = told.length > 0 ? told : [byDefault];
  return Math.max(...texts.map((text) => threshold(text, capacity)));
}

/**
 * The amount of a threshold, given as `100Mi` or as a share of the capacity. A share of 100 % switches the signal off.
 */
function threshold(text: string, capacity: number): number {
  if (!text.endsWith("%")) return parseUnits(text) ?? 0;
  const percent = Number(text.slice(0, -1));
  if (!Number.isFinite(percent) || percent === 100) return 0;
  return Math.ceil((capacity * percent) / 100);
}

/** The reserved amounts of cpu, memory and storage. No other reserved amount reduces allocatable. */
function known(amounts: KubeletConfiguration["kubeReserved"]): Record<string, number> {
  const { pid: _, ...parsed } = parseResources(amounts);
  return parsed;
}

function efaInterfaces(info: InstanceTypeInfo, wanted: readonly NetworkInterface[]): number {
  if (wanted.length === 0) return info.NetworkInfo.EfaInfo?.MaximumEfaInterfaces ?? 0;
  return wanted.filter((one) => one.interfaceType === "efa-only").length;
}

function gpus(info: InstanceTypeInfo, manufacturer: string): number {
  return (info.GpuInfo?.Gpus ?? [])
    .filter((gpu) => gpu.Manufacturer.toLowerCase() === manufacturer.toLowerCase())
    .reduce((sum, gpu) => sum + gpu.Count, 0);
}

function neuronDevices(info: InstanceTypeInfo): number {
  return (info.NeuronInfo?.NeuronDevices ?? []).reduce((sum, device) => sum + device.Count, 0);
}

function neuronCores(info: InstanceTypeInfo): number {
  const first = info.NeuronInfo?.NeuronDevices[0];
  return first === undefined ? 0 : first.Count * (first.CoreInfo?.Count ?? 0);
}
