/**
 * The devices that pods can claim on a node of an instance type, as its DRA drivers will publish them. Pool names
 * differ by type, as upstream's do.
 * upstream: pkg/cloudprovider/dynamicresources.go, pkg/providers/{nvidiadra,efadra}
 */
import type { NetworkInterface } from "../../../apis/aws/ec2nodeclass.ts";
import type { Device } from "../../../apis/resource/kinds.ts";
import type { DynamicResources } from "../../../core/cloudprovider/dynamic-resources.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { devicesOf } from "../catalogue/devices.ts";
import { neuronDevices } from "./neuron.ts";
import { bindingOf, poolOf } from "./pools.ts";
import { type GpuSharing, sharedCapacity } from "./sharing.ts";

/** Drivers whose devices the planner knows. Each has a gate, and all need `--ignore-dra-requests=false`. */
export interface DeviceGates {
  /** Whether devices of the driver `gpu.nvidia.com` are planned. */
  readonly nvidiaGpu: boolean;
  /** Whether devices of the driver `dra.net` are planned. */
  readonly efa: boolean;
  /** Whether devices of the driver `neuron.aws.com` are planned. karpenter-ts only, and experimental. */
  readonly neuron: boolean;
}

/** Driver of EFA interfaces. */
export const EFA_DRIVER = "dra.net";

const GPU_DRIVER = "gpu.nvidia.com";
/** Attributes that are equal on all GPUs of a node, and known only once the node runs. */
const GPU_VERSIONS = ["driverVersion", "cudaDriverVersion"];

/** Settings of the node class about devices. */
interface DeviceSettings {
  readonly gates: DeviceGates;
  readonly sharing: GpuSharing;
  /** The network interfaces of the class. Empty: EFA interfaces are attached when a claim asks for them. */
  readonly interfaces: readonly NetworkInterface[];
}

/** The devices of the type. Undefined: it has none, or none whose feature gate is on. */
export function dynamicResourcesOf(
  info: InstanceTypeInfo,
  { gates, sharing, interfaces }: DeviceSettings,
): DynamicResources | undefined {
  const type = info.InstanceType;
  const gpus = gates.nvidiaGpu ? gpuDevices(type, sharing) : [];
  const efas = gates.efa ? efaDevices(info, interfaces) : [];
  const pools = [
    ...poolOf(GPU_DRIVER, `gpus-${type}`, gpus),
    ...poolOf(EFA_DRIVER, `network-${type}`, efas),
  ];
  const bindings = GPU_VERSIONS.flatMap((name) =>
    bindingOf(`${GPU_DRIVER}/${name}`, { driver: GPU_DRIVER, pool: `gpus-${type}` }, gpus),
  );
  const neuron = gates.neuron ? neuronDevices(info) : undefined;
  const all = [...pools, ...(neuron?.pools ?? [])];
  if (all.length === 0) return undefined;
  return { pools: all, bindings: [...bindings, ...(neuron?.bindings ?? [])] };
}

function gpuDevices(type: string, sharing: GpuSharing): readonly Device[] {
  return (devicesOf(type)[GPU_DRIVER] ?? []).map(({ name, attributes, capacity }) => ({
    name,
    attributes,
    ...sharedCapacity(sharing, capacity["memory"] ?? "0"),
  }));
}

/**
 * All EFA interfaces of the type, or those that the class attaches. Upstream promises all of them even if the class
 * attaches fewer. An instance has one EFA interface for each network card; only the first card of p6-b300 has none.
 */
function efaDevices(
  info: InstanceTypeInfo,
  interfaces: readonly NetworkInterface[],
): readonly Device[] {
  const rows = devicesOf(info.InstanceType)[EFA_DRIVER] ?? [];
  const cardsWithoutEfa = Math.max(0, (info.NetworkInfo.NetworkCards ?? []).length - rows.length);
  const cards = interfaces
    .filter((one) => one.interfaceType === "efa-only")
    .map((one) => one.networkCardIndex);
  return rows
    .filter((_, index) => interfaces.length === 0 || cards.includes(index + cardsWithoutEfa))
    .map(({ name, attributes }) => ({ name, attributes }));
}
