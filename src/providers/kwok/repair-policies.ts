/** How long a silent kubelet is borne with. upstream: kwok/cloudprovider/cloudprovider.go */
import type { RepairPolicy } from "../../core/cloudprovider/cloud-provider.ts";

/** Node conditions that node repair acts on. upstream: kwok/cloudprovider/cloudprovider.go. */
export const KWOK_REPAIR_POLICIES: readonly RepairPolicy[] = (["False", "Unknown"] as const).map(
  (conditionStatus) => ({ conditionType: "Ready", conditionStatus, tolerationMs: 600_000 }),
);
