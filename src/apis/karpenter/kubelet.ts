/** Kubelet settings of all API versions. */
import type { ResourceAmounts } from "../meta.ts";

/** Settings of the kubelet, of all API versions. Amounts are quantities; periods are Go durations. */
export interface KubeletConfiguration {
  readonly clusterDNS?: readonly string[];
  /** The runtime, `dockerd` or `containerd`; v1alpha5 only. */
  readonly containerRuntime?: string;
  /**
   * A number, or a CEL expression over the instance type. The latter is for v1 classes, with the feature gate
   * NodeClassCEL.
   */
  readonly maxPods?: number | string;
  readonly podsPerCore?: number;
  readonly systemReserved?: ResourceAmounts;
  readonly kubeReserved?: ResourceAmounts;
  /** Eviction thresholds, by signal: a quantity or a percentage. */
  readonly evictionHard?: Readonly<Record<string, string>>;
  readonly evictionSoft?: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod?: Readonly<Record<string, string>>;
  readonly evictionMaxPodGracePeriod?: number;
  readonly imageGCHighThresholdPercent?: number;
  readonly imageGCLowThresholdPercent?: number;
  readonly cpuCFSQuota?: boolean;
  readonly [field: string]: unknown;
}

/** The signals that eviction thresholds may use. */
export const EVICTION_SIGNALS: readonly string[] = [
  "memory.available",
  "nodefs.available",
  "nodefs.inodesFree",
  "imagefs.available",
  "imagefs.inodesFree",
  "pid.available",
];

/** Resources that may be reserved for the kubelet or the system. */
export const RESERVABLE: readonly string[] = ["cpu", "memory", "ephemeral-storage", "pid"];

/** Kubelet settings for one instance type, with all expressions evaluated. */
export type ResolvedKubelet = KubeletConfiguration & { readonly maxPods?: number };
