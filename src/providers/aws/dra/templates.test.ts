import { afterEach, describe, expect, it } from "vitest";
import { EC2_NODE_CLASS, type EC2NodeClass } from "../../../apis/aws/ec2nodeclass.ts";
import { ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY } from "../../../apis/aws/labels.ts";
import type { Device } from "../../../apis/resource/kinds.ts";
import type { DynamicResources } from "../../../core/cloudprovider/dynamic-resources.ts";
import { type AwsWorld, awsWorld, ec2NodeClass } from "../../../testing/aws-world.ts";
import { pool } from "../../../testing/builders.ts";
import type { DeviceGates } from "./templates.ts";

const CLASS_REF = { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" };
const ALL: DeviceGates = { nvidiaGpu: true, efa: true, neuron: true };
const SHUT: DeviceGates = { nvidiaGpu: false, efa: false, neuron: false };

let world: AwsWorld;
afterEach(() => world.stop());

async function begin(
  devices: DeviceGates | undefined,
  spec: Partial<EC2NodeClass["spec"]> = {},
  sharing?: string,
): Promise<ReadonlyMap<string, DynamicResources | undefined>> {
  world = await awsWorld(devices === undefined ? {} : { devices }, { everyType: true });
  const made = ec2NodeClass(spec);
  const annotations =
    sharing === undefined ? {} : { [ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY]: sharing };
  await world.kube.create(EC2_NODE_CLASS, {
    ...made,
    metadata: { ...made.metadata, annotations },
  });
  await world.clock.advance(1_000);
  return listed();
}

async function listed(): Promise<ReadonlyMap<string, DynamicResources | undefined>> {
  const types = await world.settle(world.cloud.getInstanceTypes(pool({ classRef: CLASS_REF })));
  return new Map(types.map((one) => [one.name, one.dynamicResources]));
}

function devicesOf(resources: DynamicResources | undefined, driver: string): readonly Device[] {
  return (
    resources?.pools.filter((one) => one.driver === driver).flatMap((one) => one.devices) ?? []
  );
}

function validation(): string {
  const { status } = world.kube.find(EC2_NODE_CLASS, "default") as EC2NodeClass;
  const found = status?.conditions?.find((one) => one.type === "ValidationSucceeded");
  return `${found?.status} ${found?.reason}: ${found?.message}`;
}

describe("the devices of an instance type", () => {
  it("are those of drivers whose feature gate is on", async () => {
    expect((await begin(undefined)).get("p5.48xlarge")).toBeUndefined();
    await world.stop();
    expect((await begin(SHUT)).get("p5.48xlarge")).toBeUndefined();
    await world.stop();
    const efaOnly = await begin({ ...SHUT, efa: true });
    expect(efaOnly.get("p5.48xlarge")?.pools.map((one) => one.driver)).toEqual(["dra.net"]);
    expect(efaOnly.get("g5.xlarge")).toBeUndefined();
    await world.stop();
    const types = await begin({ ...SHUT, nvidiaGpu: true });
    expect(types.get("g5.xlarge")).toEqual({
      pools: [
        {
          driver: "gpu.nvidia.com",
          pool: "gpus-g5.xlarge",
          devices: [
            {
              name: "gpu-0",
              attributes: {
                architecture: { string: "Ampere" },
                brand: { string: "Nvidia" },
                cudaComputeCapability: { version: "8.6.0" },
                productName: { string: "NVIDIA A10G" },
                "resource.kubernetes.io/pcieRoot": { string: "pci0000:00" },
                type: { string: "gpu" },
              },
              capacity: { memory: { value: "23028Mi" } },
            },
          ],
        },
      ],
      bindings: [],
    });
    // The simulated account may sell fewer types than the data knows.
    expect([...types.values()].filter((one) => one !== undefined).length).toBeGreaterThan(40);
  });

  it("have bindings for attributes that are equal on all GPUs, and EFA interfaces on the PCIe root of a GPU", async () => {
    const resources = (await begin(ALL)).get("p5.48xlarge");
    const gpus = devicesOf(resources, "gpu.nvidia.com");
    const bindings = resources?.bindings ?? [];
    expect(bindings.map(({ attribute, devices }) => [attribute, devices.length])).toEqual([
      ["gpu.nvidia.com/driverVersion", 8],
      ["gpu.nvidia.com/cudaDriverVersion", 8],
    ]);
    const rootOf = ({ attributes }: Device): string =>
      attributes?.["resource.kubernetes.io/pcieRoot"]?.string ?? "";
    const efas = devicesOf(resources, "dra.net");
    expect(gpus.map((gpu) => efas.filter((efa) => rootOf(efa) === rootOf(gpu)).length)).toEqual(
      Array.from({ length: 8 }, () => 4),
    );
    expect(efas[0]?.attributes).toMatchObject({
      "dra.net/rdma": { bool: true },
      "dra.net/numaNode": { int: 0 },
    });
  });

  it("include only the EFA interfaces that spec.networkInterfaces attaches", async () => {
    const types = await begin(ALL, {
      networkInterfaces: [
        { networkCardIndex: 0, deviceIndex: 0, interfaceType: "interface" },
        { networkCardIndex: 1, deviceIndex: 1, interfaceType: "efa-only" },
        { networkCardIndex: 4, deviceIndex: 1, interfaceType: "efa-only" },
      ],
    });
    const named = (type: string): readonly string[] =>
      devicesOf(types.get(type), "dra.net").map(({ name }) => name);
    expect(named("p5.48xlarge")).toEqual(["efa-1", "efa-4"]);
    // The first network card of this type has no EFA interface.
    expect(named("p6-b300.48xlarge")).toEqual(["efa-0", "efa-3"]);
    expect(named("c5n.18xlarge")).toEqual([]);
  });

  it("include Neuron devices and the groups in which they are connected", async () => {
    const types = await begin({ ...SHUT, neuron: true });
    const trainium = types.get("trn1.32xlarge");
    const groups = trainium?.bindings.filter((one) => one.attribute.startsWith("resource.aws.com"));
    expect(groups?.map(({ attribute, devices }) => [attribute, devices.length])).toEqual([
      ...Array.from({ length: 4 }, () => ["resource.aws.com/devicegroup4_id", 4]),
      ...Array.from({ length: 2 }, () => ["resource.aws.com/devicegroup8_id", 8]),
      ["resource.aws.com/devicegroup16_id", 16],
    ]);
    expect(devicesOf(trainium, "neuron.aws.com")[5]).toEqual({
      name: "neurondevice5",
      attributes: {
        deviceId: { int: 5 },
        instanceType: { string: "trn1.32xlarge" },
        resourceType: { string: "neuron_device" },
        topology_x: { int: 1 },
        topology_y: { int: 1 },
        topology4_id: { int: 1 },
        topology8_id: { int: 0 },
      },
    });
    expect(devicesOf(types.get("inf2.24xlarge"), "neuron.aws.com").length).toBe(6);
    expect(types.get("inf1.24xlarge")).toBeUndefined();
  });
});

describe("a GPU that claims share", () => {
  const range = (min: string, max: string, step: string) => ({ min, max, step });

  it.each([
    ["", undefined, {}],
    ["disabled", undefined, {}],
    [
      "3",
      true,
      {
        requestPolicy: { default: "0", validRange: range("0", "23028Mi", "1Mi") },
        shares: { value: "3", requestPolicy: { default: "1", validRange: range("1", "3", "1") } },
      },
    ],
    [
      "memory",
      true,
      { requestPolicy: { default: "23028Mi", validRange: range("1Mi", "23028Mi", "1Mi") } },
    ],
    [
      "unlimited",
      true,
      { requestPolicy: { default: "0", validRange: range("0", "23028Mi", "1Mi") } },
    ],
  ])(
    "is shared as the annotation of the node class says: %j",
    async (text, shared, { requestPolicy, shares }: Shared) => {
      const [gpu] = devicesOf((await begin(ALL, {}, text)).get("g5.xlarge"), "gpu.nvidia.com");
      expect(gpu?.allowMultipleAllocations).toBe(shared);
      expect(gpu?.capacity).toEqual({
        memory: { value: "23028Mi", ...(requestPolicy === undefined ? {} : { requestPolicy }) },
        ...(shares === undefined ? {} : { shares }),
      });
      expect(validation()).toContain("True");
    },
  );

  it.each(["0", "-1", "1.5", "Memory", "2 "])(
    "stays exclusive with the invalid annotation %j, and a condition says so",
    async (text) => {
      const [gpu] = devicesOf((await begin(ALL, {}, text)).get("g5.xlarge"), "gpu.nvidia.com");
      expect(gpu?.allowMultipleAllocations).toBeUndefined();
      expect(validation()).toContain(
        `False NVIDIAConsumableCapacityInvalid: annotation karpenter.k8s.aws/nvidia-consumable-capacity: "${text}"`,
      );
    },
  );

  it("needs the feature gate, and a changed annotation does not change the class hash", async () => {
    await begin({ ...ALL, nvidiaGpu: false }, {}, "memory");
    expect(validation()).toContain("False DRADisabled: annotation");
    const hashOf = (): string | undefined =>
      world.kube.find(EC2_NODE_CLASS, "default")?.metadata.annotations?.[
        "karpenter.k8s.aws/ec2nodeclass-hash"
      ];
    const before = hashOf();
    const held = world.kube.find(EC2_NODE_CLASS, "default") as EC2NodeClass;
    const { [ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY]: _, ...annotations } =
      held.metadata.annotations ?? {};
    await world.kube.update(EC2_NODE_CLASS, {
      ...held,
      metadata: { ...held.metadata, annotations },
    });
    await world.clock.advance(1_000);
    expect(validation()).toContain("True");
    expect(before).toBeDefined();
    expect(hashOf()).toBe(before);
  });
});

interface Shared {
  readonly requestPolicy?: object;
  readonly shares?: object;
}
