/**
 * Which nodes of kwok count as broken: those without a kubelet, and those with one of two conditions that a person or
 * a test sets to see a repair or a reboot.
 * upstream: kwok/cloudprovider/cloudprovider.go
 */
import type { RepairPolicy } from "../../core/cloudprovider/repair-policy.ts";
import { textMatch } from "../../readers/re2.ts";

const ANY = textMatch(".*");

/** Node conditions that node repair acts on. upstream: kwok/cloudprovider/cloudprovider.go. */
export const KWOK_REPAIR_POLICIES: readonly RepairPolicy[] = [
  {
    conditionType: "Ready",
    conditionStatus: "False",
    tolerationMs: 600_000,
    terminationGracePeriodMs: 0,
    priority: 0,
    action: "ReplaceNode",
  },
  {
    conditionType: "Ready",
    conditionStatus: "Unknown",
    reasonRegex: ANY,
    tolerationMs: 600_000,
    terminationGracePeriodMs: 0,
    priority: 0,
    action: "ReplaceNode",
  },
  {
    conditionType: "KWOKUnhealthy",
    conditionStatus: "True",
    reasonRegex: ANY,
    tolerationMs: 30_000,
    terminationGracePeriodMs: 45_000,
    priority: 0,
    action: "ReplaceNode",
  },
  {
    conditionType: "KWOKRebootRequired",
    conditionStatus: "True",
    reasonRegex: ANY,
    tolerationMs: 30_000,
    terminationGracePeriodMs: 60_000,
    priority: 0,
    action: "RebootNode",
  },
];
