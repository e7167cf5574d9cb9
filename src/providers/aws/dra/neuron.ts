/**
 * Devices of the driver `neuron.aws.com`. karpenter-ts only and experimental: upstream has no templates for this
 * driver. They follow the attributes in AWS's Neuron documentation; none was compared with a real node.
 */
import type { Device, DeviceAttribute } from "../../../apis/resource/kinds.ts";
import type { DynamicResources } from "../../../core/cloudprovider/dynamic-resources.ts";
import type { InstanceTypeInfo } from "../api/images-and-types.ts";
import { bindingOf, poolOf } from "./pools.ts";

const NEURON_DRIVER = "neuron.aws.com";
/**
 * The driver supports Inferentia2 and Trainium. UltraServers (trn2u) span several nodes, which no template describes.
 */
const SERVED = /^(inf2|trn\d+n?)\./;
/** Trainium devices form a grid; this many are in a row. */
const ROW = 4;
/** Attributes that are equal on all devices of a node, and known only once the node runs. */
const OF_NODE = [
  "neuronDriverVersion",
  "draDriverVersion",
  "networkNodeLayer1",
  "networkNodeLayer2",
  "networkNodeLayer3",
];
/** Sizes of groups of connected devices. The id of a group is a hash that only its members share. */
const GROUP_SIZES = [4, 8, 16];

/** The devices that the Neuron driver offers on the type. Undefined: it does not support the type. */
export function neuronDevices(info: InstanceTypeInfo): DynamicResources | undefined {
  const type = info.InstanceType;
  const [model] = info.NeuronInfo?.NeuronDevices ?? [];
  if (model === undefined || !SERVED.test(type)) return undefined;
  const isGrid = type.startsWith("trn") && model.Count > 1;
  const devices = Array.from({ length: model.Count }, (_, index) => deviceOf(type, index, isGrid));
  const of = { driver: NEURON_DRIVER, pool: `neurons-${type}` };
  const ofNode = OF_NODE.flatMap((name) => bindingOf(`${NEURON_DRIVER}/${name}`, of, devices));
  const hasGroups = isGrid && (info.NetworkInfo.EfaInfo?.MaximumEfaInterfaces ?? 0) > 0;
  const ofGroups = GROUP_SIZES.filter((size) => hasGroups && size <= model.Count).flatMap((size) =>
    Array.from({ length: Math.floor(model.Count / size) }, (_, group) =>
      devices.slice(group * size, (group + 1) * size),
    ).flatMap((members) => bindingOf(`resource.aws.com/devicegroup${size}_id`, of, members)),
  );
  return { pools: poolOf(of.driver, of.pool, devices), bindings: [...ofNode, ...ofGroups] };
}

function deviceOf(instanceType: string, index: number, isGrid: boolean): Device {
  const row = Math.floor(index / ROW);
  const grid: Record<string, DeviceAttribute> = isGrid
    ? {
        topology_x: { int: row },
        topology_y: { int: index % ROW },
        topology4_id: { int: row },
        topology8_id: { int: Math.floor(row / 2) },
      }
    : {};
  return {
    name: `neurondevice${index}`,
    attributes: {
      deviceId: { int: index },
      instanceType: { string: instanceType },
      resourceType: { string: "neuron_device" },
      ...grid,
    },
  };
}
