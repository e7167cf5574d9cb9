/** What nodes on EC2 report when they are broken, and how long that is borne with. upstream: pkg/cloudprovider/cloudprovider.go */
import type { RepairPolicy } from "../../core/cloudprovider/cloud-provider.ts";

/**
 * Node conditions that node repair acts on, and after how many minutes. upstream:
 * pkg/cloudprovider/cloudprovider.go.
 */
export const AWS_REPAIR_POLICIES: readonly RepairPolicy[] = [
  repair("Ready", "False", 30),
  repair("Ready", "Unknown", 30),
  repair("AcceleratedHardwareReady", "False", 10),
  repair("StorageReady", "False", 30),
  repair("NetworkingReady", "False", 30),
  repair("KernelReady", "False", 30),
  repair("ContainerRuntimeReady", "False", 30),
];

function repair(
  conditionType: string,
  conditionStatus: "False" | "Unknown",
  minutes: number,
): RepairPolicy {
  return { conditionType, conditionStatus, tolerationMs: minutes * 60_000 };
}
