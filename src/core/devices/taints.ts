/** Taints of devices, and requests that tolerate them (KEP-5055). karpenter-ts only. */
import type { Device, DeviceTaint, DeviceToleration } from "../../apis/resource/kinds.ts";

/** The first taint of the device that the request does not tolerate. Undefined: there is none. */
export function untoleratedTaint(
  { taints = [] }: Device,
  tolerations: readonly DeviceToleration[],
): DeviceTaint | undefined {
  return taints.find(
    (taint) => taint.effect !== "None" && !tolerations.some((one) => tolerates(one, taint)),
  );
}

function tolerates(
  { key = "", operator = "Equal", value = "", effect }: DeviceToleration,
  taint: DeviceTaint,
): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key === "") return operator === "Exists";
  if (key !== taint.key) return false;
  return operator === "Exists" || value === (taint.value ?? "");
}
