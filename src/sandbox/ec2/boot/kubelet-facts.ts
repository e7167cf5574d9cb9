/**
 * What the kubelet of a running instance would report: labels, taints, capacity and allocatable. It is
 * computed from the instance and from its operating system's kubelet settings. The AWS provider predicts the
 * same numbers with code of its own; nothing is shared, so that the sandbox can find wrong predictions.
 */
import { assert } from "../../../base/assert.ts";
import { formatMilli, parseMilli, parseUnits } from "../../../base/quantity.ts";
import type { AwsState, ImageRecord, InstanceRecord } from "../account/state.ts";
import { mappedDevices } from "../instances/instances.ts";
import type { TypeFacts } from "../market/catalogue.ts";
import type { BootSettings, BootTaint } from "./user-data.ts";
import { decodeUserData } from "./user-data.ts";

/** What a kubelet will register as its Node. Quantities are text, as in Kubernetes. */
export interface KubeletFacts {
  readonly nodeName: string;
  /** The provider id: `aws:///<zone>/<instance id>`. */
  readonly providerId: string;
  /** The labels from user data, and those of the cloud provider. */
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly BootTaint[];
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly maxPods: number;
  /** The number of EBS volumes that the CSI driver says pods can attach. */
  readonly attachableVolumes: number;
  readonly internalIp: string;
  readonly osImage: string;
  readonly operatingSystem: "linux" | "windows";
  readonly architecture: "amd64" | "arm64";
  /** The version, such as `v1.34.0-eks-simulated`. */
  readonly kubeletVersion: string;
}

/** What the kubelet reports, or why the instance never joins. */
export type KubeletResult =
  | { readonly ok: true; readonly kubelet: KubeletFacts }
  | { readonly ok: false; readonly problem: string };

/** What the kubelet of an instance reports, or why it never joins this cluster. */
export function kubeletOf(state: AwsState, record: InstanceRecord): KubeletResult {
  const image = state.images.get(record.imageId);
  const facts = state.catalogue.facts.get(record.type);
  if (image === undefined || facts === undefined) {
    return { ok: false, problem: `image ${record.imageId} or type ${record.type} is gone` };
  }
  const boot = decodeUserData(image.family, record.data.UserData);
  if (!boot.ok) return boot;
  const { settings } = boot;
  if (settings.clusterName !== state.clusterName) {
    return {
      ok: false,
      problem: `user data names cluster ${JSON.stringify(settings.clusterName)}, not ${JSON.stringify(state.clusterName)}`,
    };
  }
  return { ok: true, kubelet: describe(state, record, image, facts, settings) };
}

/** The kubelet of an instance that Karpenter did not launch: default settings and these labels. */
export function unmanagedKubelet(
  state: AwsState,
  record: InstanceRecord,
  labels: Readonly<Record<string, string>>,
): KubeletFacts {
  const image = state.images.get(record.imageId);
  const facts = state.catalogue.facts.get(record.type);
  assert(image !== undefined && facts !== undefined, `unmanaged instance ${record.id} is whole`);
  const nothing = { kubeReserved: {}, systemReserved: {}, evictionHard: {} };
  return describe(state, record, image, facts, { labels, taints: [], ...nothing });
}

/** The facts of the type, with the number of vCPUs that the launch asked for. */
function launchedWith({ data }: InstanceRecord, ofType: TypeFacts): TypeFacts {
  const { CoreCount, ThreadsPerCore } = data.CpuOptions ?? {};
  if (CoreCount === undefined || ThreadsPerCore === undefined) return ofType;
  return { ...ofType, vcpus: CoreCount * ThreadsPerCore };
}

function describe(
  state: AwsState,
  record: InstanceRecord,
  image: ImageRecord,
  ofType: TypeFacts,
  settings: BootSettings,
): KubeletFacts {
  const facts = launchedWith(record, ofType);
  const isWindows = image.family.startsWith("Windows");
  const maxPods = podLimit(image, facts, settings);
  const isStriped = settings.raid0 === true && facts.localStorageGb > 0;
  const storageBytes = isStriped ? facts.localStorageGb * 1e9 : rootBytes(record, image);
  const resources = resourcesOf(image, facts, settings, maxPods, storageBytes);
  return {
    nodeName: record.privateDnsName,
    providerId: `aws:///${record.zone}/${record.id}`,
    labels: { ...settings.labels, ...cloudLabels(state, record, image, facts) },
    taints: settings.taints,
    ...resources,
    maxPods,
    attachableVolumes: attachableVolumes(record, image, facts),
    internalIp: record.privateIp,
    osImage: image.osImage,
    operatingSystem: isWindows ? "windows" : "linux",
    architecture: facts.arch,
    kubeletVersion: `v${state.cluster.version}.0-eks-simulated`,
  };
}

const WINDOWS_BUILDS: Readonly<Record<string, string>> = {
  Windows2019: "10.0.17763",
  Windows2022: "10.0.20348",
  Windows2025: "10.0.26100",
};

function cloudLabels(
  state: AwsState,
  record: InstanceRecord,
  image: ImageRecord,
  facts: TypeFacts,
): Record<string, string> {
  const build = WINDOWS_BUILDS[image.family];
  const os = build === undefined ? "linux" : "windows";
  const zoneId = state.zones.find((zone) => zone.ZoneName === record.zone)?.ZoneId;
  return {
    "kubernetes.io/hostname": record.privateDnsName,
    "kubernetes.io/os": os,
    "kubernetes.io/arch": facts.arch,
    "beta.kubernetes.io/os": os,
    "beta.kubernetes.io/arch": facts.arch,
    "node.kubernetes.io/instance-type": record.type,
    "beta.kubernetes.io/instance-type": record.type,
    "topology.kubernetes.io/zone": record.zone,
    "topology.kubernetes.io/region": state.region,
    "failure-domain.beta.kubernetes.io/zone": record.zone,
    "failure-domain.beta.kubernetes.io/region": state.region,
    ...(zoneId === undefined ? {} : { "topology.k8s.aws/zone-id": zoneId }),
    ...(build === undefined ? {} : { "node.kubernetes.io/windows-build": build }),
  };
}

/** The kubelet's own default for the number of pods. */
const KUBELET_DEFAULT_PODS = 110;

/**
 * Number of pods to which the VPC network plugin can give an address without prefix delegation, as in the
 * operating systems' own tables.
 */
function networkPods(facts: TypeFacts): number {
  const perInterface = facts.ipv4PerInterface - 1;
  if (facts.defaultCardInterfaces === 0 || perInterface <= 0) return KUBELET_DEFAULT_PODS;
  return facts.defaultCardInterfaces * perInterface + 2;
}

function podLimit(image: ImageRecord, facts: TypeFacts, settings: BootSettings): number {
  const isWindows = image.family.startsWith("Windows");
  const limit = settings.maxPods ?? (isWindows ? KUBELET_DEFAULT_PODS : networkPods(facts));
  const perCore = settings.podsPerCore ?? 0;
  return perCore > 0 ? Math.min(limit, perCore * facts.vcpus) : limit;
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/**
 * The size in bytes of the volume with the pods' storage: the second volume of Bottlerocket, the root volume of all
 * others.
 */
function rootBytes(record: InstanceRecord, image: ImageRecord): number {
  const devices = mappedDevices(image.blockDevices, record.data.BlockDeviceMappings);
  const name = image.family === "Bottlerocket" ? "/dev/xvdb" : image.image.RootDeviceName;
  const device = devices.find((candidate) => candidate.DeviceName === name) ?? devices.at(-1);
  return (device?.Ebs?.VolumeSize ?? 20) * GIB;
}

/** A network interface that the VPC CNI keeps ready, besides the first one, which EC2's number leaves out. */
const FURTHER_INTERFACES = 1;

/** The slots of the type without those of the machine's own volumes and interfaces. */
function attachableVolumes(
  record: InstanceRecord,
  image: ImageRecord,
  { volumeSlots: { MaximumEbsAttachments: slots, AttachmentLimitType: kind }, isXen }: TypeFacts,
): number {
  const own = mappedDevices(image.blockDevices, record.data.BlockDeviceMappings).length;
  return Math.max(0, slots - own - (kind === "shared" && !isXen ? FURTHER_INTERFACES : 0));
}

/**
 * The memory that the kernel sees. Firmware, page tables and the hypervisor take about 2.85 % and 240 MiB of
 * the advertised memory (measured on m5 and c5 nodes). The loss is at most 7 %, so that small types stay
 * usable.
 */
function memoryBytes(facts: TypeFacts): number {
  const lostMib = Math.min(0.0285 * facts.memoryMib + 240, 0.07 * facts.memoryMib);
  return Math.floor(facts.memoryMib - lostMib) * MIB;
}

/**
 * CPU reserved for the system, in milli-CPU. The share falls from the first core to the second, third, fourth
 * and all further ones.
 */
function reservedMilliCpu(vcpus: number): number {
  const bands = [
    [1, 60],
    [1, 10],
    [2, 5],
    [Number.POSITIVE_INFINITY, 2.5],
  ] as const;
  let left = vcpus;
  let milli = 0;
  for (const [cores, perCore] of bands) {
    const taken = Math.min(left, cores);
    milli += taken * perCore;
    left -= taken;
  }
  return Math.floor(milli);
}

function resourcesOf(
  image: ImageRecord,
  facts: TypeFacts,
  settings: BootSettings,
  maxPods: number,
  diskBytes: number,
): Pick<KubeletFacts, "capacity" | "allocatable"> {
  const memory = memoryBytes(facts);
  // Kube-reserved memory depends on a number of pods. Amazon Linux and Ubuntu take the network plugin's
  // table, Bottlerocket and Windows the configured maximum.
  const isByTable = ["AL2", "AL2023", "Ubuntu", "Custom"].includes(image.family);
  const reservedPods = isByTable ? networkPods(facts) : maxPods;
  const kube = settings.kubeReserved;
  const system = settings.systemReserved;
  const evict = settings.evictionHard;
  const kept = {
    milliCpu: milliOf(kube["cpu"], reservedMilliCpu(facts.vcpus)) + milliOf(system["cpu"], 0),
    memory:
      bytesOf(kube["memory"], (255 + 11 * reservedPods) * MIB) +
      bytesOf(system["memory"], 0) +
      thresholdOf(evict["memory.available"], memory, 100 * MIB),
    disk:
      bytesOf(kube["ephemeral-storage"], GIB) +
      bytesOf(system["ephemeral-storage"], 0) +
      thresholdOf(evict["nodefs.available"], diskBytes, Math.ceil(diskBytes / 10)),
  };
  const devices = deviceResources(image, facts);
  const capacity = {
    cpu: String(facts.vcpus),
    memory: kibi(memory),
    "ephemeral-storage": kibi(diskBytes),
    pods: String(maxPods),
    ...devices,
  };
  const allocatable = {
    cpu: formatMilli(Math.max(0, facts.vcpus * 1000 - kept.milliCpu)),
    memory: kibi(Math.max(0, memory - kept.memory)),
    "ephemeral-storage": kibi(Math.max(0, diskBytes - kept.disk)),
    pods: String(maxPods),
    ...devices,
  };
  return { capacity, allocatable };
}

function kibi(bytes: number): string {
  return `${Math.floor(bytes / 1024)}Ki`;
}

function bytesOf(text: string | undefined, fallback: number): number {
  return text === undefined ? fallback : (parseUnits(text) ?? fallback);
}

function milliOf(text: string | undefined, fallback: number): number {
  return text === undefined ? fallback : (parseMilli(text) ?? fallback);
}

/** An eviction threshold: a quantity, or a percentage of `whole`. */
function thresholdOf(text: string | undefined, whole: number, fallback: number): number {
  if (text === undefined) return fallback;
  if (!text.endsWith("%")) return bytesOf(text, fallback);
  const percent = Number(text.slice(0, -1));
  // A threshold of 100 % is switched off.
  return percent >= 100 ? 0 : Math.ceil((whole * percent) / 100);
}

/** The type's devices, if the image has drivers for them. Their device plugins count as installed. */
function deviceResources(image: ImageRecord, facts: TypeFacts): Record<string, string> {
  const { variant } = image;
  const hasGpuDrivers = variant === "nvidia" || variant === "gpu" || variant === "any";
  const hasNeuronDrivers = variant === "neuron" || variant === "gpu" || variant === "any";
  const resources: Record<string, string> = {};
  const gpu = facts.gpu;
  if (gpu !== undefined && gpu.count > 0 && hasGpuDrivers) {
    const name = gpu.manufacturer === "habana" ? "habana.ai/gaudi" : `${gpu.manufacturer}.com/gpu`;
    resources[name] = String(gpu.count);
  }
  if (facts.neuron !== undefined && hasNeuronDrivers) {
    resources["aws.amazon.com/neuron"] = String(facts.neuron.devices);
    resources["aws.amazon.com/neuroncore"] = String(facts.neuron.cores);
  }
  if (facts.efaInterfaces > 0) resources["vpc.amazonaws.com/efa"] = String(facts.efaInterfaces);
  // The VPC resource controller reports this resource, because Windows pods use addresses of the node's own
  // network interface.
  if (image.family.startsWith("Windows"))
    resources["vpc.amazonaws.com/PrivateIPv4Address"] = String(facts.ipv4PerInterface - 1);
  else if (facts.branchInterfaces > 0)
    resources["vpc.amazonaws.com/pod-eni"] = String(facts.branchInterfaces);
  return resources;
}
