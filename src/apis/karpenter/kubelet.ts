/** Kubelet settings as every generation spells them; alpha alone knows containerRuntime. */
import type { ResourceAmounts } from "../meta.ts";

/** Settings of the kubelet, of all generations. Amounts are quantities; periods are Go durations. */
export interface KubeletConfiguration {
  readonly clusterDNS?: readonly string[];
  /** Alpha only: `dockerd` or `containerd`. */
  readonly containerRuntime?: string;
  /** Text is an expression of the instance type: v1 classes, gate NodeClassCEL. */
  readonly maxPods?: number | string;
  readonly podsPerCore?: number;
  readonly systemReserved?: ResourceAmounts;
  readonly kubeReserved?: ResourceAmounts;
  /** Signal → quantity or percentage. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  readonly evictionMaxPodGracePeriod?: number;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly cpuCFSQuota?: boolean;
  readonly [field: string]: unknown;
}

/** What eviction thresholds may be about. */
export const EVICTION_SIGNALS: readonly string[] = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
];

/** Of what a kubelet can keep some back. */
export const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage", "pid"];

/** For one instance type: without expressions. */
export type ResolvedKubelet = KubeletConfiguration & { readonly maxPods?: number };
