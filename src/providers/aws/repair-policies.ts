/**
 * Which conditions of EC2 nodes node repair acts on, how long each is tolerated, and whether a reboot or a replacement
 * helps.
 * upstream: pkg/cloudprovider/cloudprovider.go
 */
import type { RepairAction, RepairPolicy } from "../../core/cloudprovider/repair-policy.ts";
import { textMatch } from "../../readers/re2.ts";

const MINUTE_MS = 60_000;

/** XID errors of NVIDIA's driver after which a reboot of the instance mends the GPU. */
const REBOOT_XIDS = [46, 48, 54, 62, 63, 95, 109, 110, 136, 140, 143, 155, 156, 158];
/** XID errors after which the GPU must be replaced. */
const REPLACE_XIDS = [64, 74, 79, 119, 120];

const DEVICES = { conditionType: "AcceleratedHardwareReady", conditionStatus: "False" } as const;

/** Which repair policies are used. */
export interface RepairSettings {
  /** Whether errors that a reboot mends cause a reboot instead of a replacement (gate RebootForRepair). */
  readonly rebootForRepair: boolean;
  /** Whether the policies of the older node repair controller are used, one for each condition. */
  readonly legacy: boolean;
}

/** Node conditions that node repair acts on. */
export function awsRepairPolicies({
  rebootForRepair,
  legacy,
}: RepairSettings): readonly RepairPolicy[] {
  if (legacy) return LEGACY;
  const rebooted: RepairAction = rebootForRepair ? "RebootNode" : "ReplaceNode";
  return [
    broken("Ready", "False"),
    broken("Ready", "Unknown"),
    device(REBOOT_XIDS, rebooted),
    device(REPLACE_XIDS, "ReplaceNode"),
    { ...DEVICES, ...after(30, 10), action: "ReplaceNode" },
    broken("StorageReady", "False"),
    broken("NetworkingReady", "False"),
    broken("KernelReady", "False"),
    broken("ContainerRuntimeReady", "False"),
  ];
}

/** Matches every reason. */
const ANY = textMatch(".*");

function broken(conditionType: string, conditionStatus: "False" | "Unknown"): RepairPolicy {
  return {
    conditionType,
    conditionStatus,
    reasonRegex: ANY,
    ...after(30, 10),
    action: "ReplaceNode",
  };
}

/** Unlike upstream, the whole number must match: XID 480 is not XID 48. */
function device(xids: readonly number[], action: RepairAction): RepairPolicy {
  const reasonRegex = textMatch(String.raw`XID(?:.*\D)?(?:${xids.join("|")})(?:\D|$)`);
  return { ...DEVICES, reasonRegex, ...after(10, 5), action };
}

function after(
  minutes: number,
  graceMinutes: number,
): Pick<RepairPolicy, "tolerationMs" | "terminationGracePeriodMs" | "priority"> {
  return {
    tolerationMs: minutes * MINUTE_MS,
    terminationGracePeriodMs: graceMinutes * MINUTE_MS,
    priority: 0,
  };
}

const LEGACY: readonly RepairPolicy[] = [
  legacyPolicy("Ready", "False", 30),
  legacyPolicy("Ready", "Unknown", 30),
  legacyPolicy("AcceleratedHardwareReady", "False", 10),
  legacyPolicy("StorageReady", "False", 30),
  legacyPolicy("NetworkingReady", "False", 30),
  legacyPolicy("KernelReady", "False", 30),
  legacyPolicy("ContainerRuntimeReady", "False", 30),
];

function legacyPolicy(
  conditionType: string,
  conditionStatus: "False" | "Unknown",
  minutes: number,
): RepairPolicy {
  const tolerationMs = minutes * MINUTE_MS;
  return { conditionType, conditionStatus, tolerationMs, priority: 0, action: "ReplaceNode" };
}
