/**
 * How claims may share a GPU: an annotation on the node class. It is not part of the class's hash, so a change causes
 * no drift.
 * upstream: pkg/providers/nvidiadra/consumablecapacity.go
 */
import { ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY } from "../../../apis/aws/labels.ts";
import type { AwsClass } from "../../../apis/hub/aws-class.ts";
import type { Device } from "../../../apis/resource/kinds.ts";

/** `shares`: at most this many claims share a GPU. `memory` and `unlimited`: claims share its memory. */
export type GpuSharing =
  | { readonly mode: "exclusive" | "memory" | "unlimited" }
  | { readonly mode: "shares"; readonly shares: number };

const EXCLUSIVE: GpuSharing = { mode: "exclusive" };
const STEP = "1Mi";

/** The sharing that the annotation asks for. Undefined: its text is invalid. */
function parseSharing(text: string | undefined): GpuSharing | undefined {
  if (text === undefined || text === "" || text === "disabled") return EXCLUSIVE;
  if (text === "memory" || text === "unlimited") return { mode: text };
  const shares = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return shares >= 1 ? { mode: "shares", shares } : undefined;
}

/** The sharing that a class asks for. An invalid text gives exclusive GPUs, and a condition of the class says why. */
export function sharingOf({ gpuSharing }: Pick<AwsClass, "gpuSharing">): GpuSharing {
  return parseSharing(gpuSharing) ?? EXCLUSIVE;
}

/** Why the annotation of a class has no effect. Undefined: it has an effect, or does not exist. */
export function sharingProblem(
  { gpuSharing }: Pick<AwsClass, "gpuSharing">,
  { gpusOffered }: { readonly gpusOffered: boolean },
): { readonly reason: string; readonly message: string } | undefined {
  const sharing = parseSharing(gpuSharing);
  const name = ANNOTATION_NVIDIA_CONSUMABLE_CAPACITY;
  const value = JSON.stringify(gpuSharing);
  if (sharing === undefined) {
    const message = `annotation ${name}: ${value} is not a whole number from 1, "memory", "unlimited" or "disabled"`;
    return { reason: "NVIDIAConsumableCapacityInvalid", message };
  }
  if (sharing.mode === "exclusive" || gpusOffered) return undefined;
  const message = `annotation ${name}: ${value} needs the gate DRANVIDIAGPU of --aws-feature-gates and --ignore-dra-requests=false; set both, or remove the annotation`;
  return { reason: "DRADisabled", message };
}

/** The capacity that a driver publishes for a shared GPU with this memory. */
export function sharedCapacity(
  sharing: GpuSharing,
  memory: string,
): Pick<Device, "capacity" | "allowMultipleAllocations"> {
  if (sharing.mode === "exclusive") return { capacity: { memory: { value: memory } } };
  const policy = (byDefault: string, min: string) => ({
    default: byDefault,
    validRange: { min, max: memory, step: STEP },
  });
  const byMemory = sharing.mode === "memory" ? policy(memory, STEP) : policy("0", "0");
  const capacity = { memory: { value: memory, requestPolicy: byMemory } };
  if (sharing.mode !== "shares") return { allowMultipleAllocations: true, capacity };
  const value = String(sharing.shares);
  const range = { min: "1", max: value, step: "1" };
  return {
    allowMultipleAllocations: true,
    capacity: {
      ...capacity,
      shares: { value, requestPolicy: { default: "1", validRange: range } },
    },
  };
}
