/**
 * Devices of simulated instances (`karpenter sandbox --dra`): what the drivers of NVIDIA GPUs and of EFA
 * publish on a node of each EC2 type, and the DeviceClasses of these drivers. The data is
 * data/aws/dra-devices.json, which the AWS provider also reads.
 */
import { readFileSync } from "node:fs";
import type { Node } from "../../apis/core/node.ts";
import {
  DEVICE_CLASS,
  type Device,
  type DeviceAttribute,
  type ResourceSlice,
} from "../../apis/resource/kinds.ts";
import { fieldOf } from "../../base/json.ts";
import type { KubeClient } from "../../kube/client/client.ts";

/** Devices of one driver on a machine. */
export interface MachineDevices {
  readonly driver: string;
  readonly devices: readonly Device[];
}

interface DeviceFacts {
  readonly meta: { readonly attributeTypes: Readonly<Record<string, keyof DeviceAttribute>> };
  readonly types: Readonly<Record<string, TypeFacts>>;
}

/** The devices of an instance type, by driver. */
type TypeFacts = Readonly<Partial<Record<Driver, readonly RawDevice[]>>>;
type Driver = (typeof DRIVERS)[number];

interface RawDevice {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly capacity?: Readonly<Record<string, unknown>>;
}

/** The driver of NVIDIA GPUs. */
export const GPU_DRIVER = "gpu.nvidia.com";
const DRIVERS = [GPU_DRIVER, "dra.net"] as const;
/** Attributes that only a running driver knows. They do not depend on the instance type. */
const DRIVER_VERSIONS: Readonly<Record<string, DeviceAttribute>> = {
  driverVersion: { version: "580.95.5" },
  cudaDriverVersion: { version: "13.0.0" },
};
const CLASSES: Readonly<Record<string, string>> = {
  [GPU_DRIVER]: `device.driver == "${GPU_DRIVER}" && device.attributes["${GPU_DRIVER}"].type == "gpu"`,
  "dra.net": 'device.driver == "dra.net"',
};

let facts: DeviceFacts | undefined;

/** The devices on a machine of the type. Most types have none. */
export function devicesOfType(instanceType: string): readonly MachineDevices[] {
  facts ??= JSON.parse(
    readFileSync(new URL("../../../data/aws/dra-devices.json", import.meta.url), "utf8"),
  ) as DeviceFacts;
  const { attributeTypes } = facts.meta;
  const found = fieldOf(facts.types, instanceType) ?? {};
  return DRIVERS.flatMap((driver) => {
    const raw = found[driver] ?? [];
    const devices = raw.map((one) => deviceOf(one, driver, attributeTypes));
    return devices.length === 0 ? [] : [{ driver, devices }];
  });
}

/** The ResourceSlice that the driver publishes: one for each node, in a pool named after the node. */
export function sliceOf(node: Node, { driver, devices }: MachineDevices): ResourceSlice {
  const { name, uid = "" } = node.metadata;
  const owner = { apiVersion: "v1", kind: "Node", name, uid, controller: true };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: `${name}-${driver}`, ownerReferences: [owner] },
    spec: {
      driver,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      nodeName: name,
      devices,
    },
  };
}

/** Creates the DeviceClasses, which users name in their ResourceClaims. */
export async function createDeviceClasses(client: KubeClient): Promise<void> {
  for (const [name, expression] of Object.entries(CLASSES))
    await client.create(DEVICE_CLASS, {
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata: { name },
      spec: { selectors: [{ cel: { expression } }] },
    });
}

function deviceOf(
  { name, attributes = {}, capacity }: RawDevice,
  driver: string,
  types: DeviceFacts["meta"]["attributeTypes"],
): Device {
  const typed = Object.entries(attributes).map(([key, value]): [string, DeviceAttribute] => [
    key,
    { [types[key] ?? "string"]: value },
  ]);
  return {
    name,
    attributes: { ...Object.fromEntries(typed), ...(driver === GPU_DRIVER ? DRIVER_VERSIONS : {}) },
    ...(capacity === undefined
      ? {}
      : {
          capacity: Object.fromEntries(
            Object.entries(capacity).map(([key, value]) => [key, { value: String(value) }]),
          ),
        }),
  };
}
