/**
 * GPUs that several claims share. The simulated NVIDIA driver is set up as the annotation of the node's EC2NodeClass
 * says: Karpenter believes that annotation when it plans the node.
 */
import { EC2_NODE_CLASS } from "../../apis/aws/ec2nodeclass.ts";
import { ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY, LABEL_NODECLASS } from "../../apis/aws/labels.ts";
import type { Device } from "../../apis/resource/kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { getIfThere } from "../../kube/client/get-if-there.ts";
import { GPU_DRIVER, type MachineDevices } from "./devices.ts";

/** The devices of a new node, shared as its class says. */
export async function sharedAsAsked(
  kube: KubeClient,
  labels: Readonly<Record<string, string>>,
  machine: readonly MachineDevices[],
): Promise<readonly MachineDevices[]> {
  const name = labels[LABEL_NODECLASS];
  if (name === undefined || !machine.some(({ driver }) => driver === GPU_DRIVER)) return machine;
  const nodeClass = await getIfThere(kube, EC2_NODE_CLASS, { name });
  const asked = nodeClass?.metadata.annotations?.[ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY] ?? "";
  return machine.map((one) =>
    one.driver === GPU_DRIVER
      ? { ...one, devices: one.devices.map((device) => shared(device, asked)) }
      : one,
  );
}

/**
 * The device shared as `asked` says: a number of claims, `memory` or `unlimited`. With any other text, one claim gets
 * the whole GPU.
 */
function shared(device: Device, asked: string): Device {
  const count = /^[1-9]\d*$/.test(asked) ? asked : undefined;
  if (count === undefined && asked !== "memory" && asked !== "unlimited") return device;
  const { value } = device.capacity?.["memory"] ?? { value: "0" };
  const least = asked === "memory" ? { default: value, min: "1Mi" } : { default: "0", min: "0" };
  const policy = (
    { min, default: standard }: { readonly min: string; readonly default: string },
    max: string,
    step: string,
  ) => ({ default: standard, validRange: { min, max, step } });
  return {
    ...device,
    allowMultipleAllocations: true,
    capacity: {
      ...device.capacity,
      memory: { value, requestPolicy: policy(least, value, "1Mi") },
      ...(count === undefined
        ? {}
        : {
            shares: { value: count, requestPolicy: policy({ default: "1", min: "1" }, count, "1") },
          }),
    },
  };
}
