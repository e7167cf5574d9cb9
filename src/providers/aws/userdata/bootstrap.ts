/**
 * Input of the user data of every family: the cluster to join, and the kubelet's labels, taints and settings. Removes
 * labels that a kubelet may not set on its own node, and formats kubelet flags.
 * upstream: pkg/providers/amifamily/bootstrap
 */
import type { Taint } from "../../../apis/core/node.ts";
import { formatTaint } from "../../../apis/core/tolerations.ts";
import type { Generation } from "../../../apis/hub/generation.ts";
import type { KubeletConfiguration } from "../../../apis/karpenter/kubelet.ts";
import {
  isDomainOrBelow,
  labelDomain,
  NODE_DO_NOT_SYNC_TAINTS_LABEL_KEY,
  UNREGISTERED_NO_EXECUTE_TAINT,
} from "../../../apis/karpenter/labels.ts";
import type { ResourceAmounts } from "../../../apis/meta.ts";
import { formatDuration, parseDuration } from "../../../base/duration.ts";
import { LIMITS } from "../../../readers/limits.ts";
import type { TextSource } from "../../../readers/read-error.ts";

/** Describes the class's user data to a parser, for its error messages and limits. */
export const USER_DATA: TextSource = { source: "spec.userData", limits: LIMITS.userData };

/** What an instance needs to join the cluster. */
export interface Bootstrap {
  readonly generation: Generation;
  readonly clusterName: string;
  readonly clusterEndpoint: string;
  /** The cluster's CA as PEM text in base64. Absent: the kubelet gets no such argument. */
  readonly caBundle: string | undefined;
  /** The service CIDR of the cluster. Only AL2023 needs it. */
  readonly clusterCidr: string | undefined;
  /** Address of kube-dns. Undefined if it is not known. */
  readonly dnsIp: string | undefined;
  readonly kubelet: KubeletConfiguration | undefined;
  /** The limit of the class, else the pods that the planner counts for the launched type. */
  readonly maxPods: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Taints of the claim; `nodeTaints` adds the one that registration removes. */
  readonly taints: readonly Taint[];
  readonly raid0: boolean;
  /** The version of the image: `latest` or `1.47.0`. Only Bottlerocket needs it. Absent: it is not known. */
  readonly imageVersion?: string | undefined;
  /** The class's own user data. */
  readonly custom: string | undefined;
}

const KUBELET_FORBIDDEN_DOMAINS = ["node-restriction.kubernetes.io", "kubernetes.io", "k8s.io"];

/** Labels that the kubelet registers with, by key. On v1 nodes one of them says that the kubelet sets all taints. */
export function nodeLabels(bootstrap: Bootstrap): readonly (readonly [string, string])[] {
  const labels: Record<string, string> = { ...bootstrap.labels };
  if (bootstrap.generation === "v1") labels[NODE_DO_NOT_SYNC_TAINTS_LABEL_KEY] = "true";
  return Object.keys(labels)
    .filter((key) => {
      const domain = labelDomain(key);
      return !KUBELET_FORBIDDEN_DOMAINS.some((forbidden) => isDomainOrBelow(domain, forbidden));
    })
    .sort()
    .map((key) => [key, labels[key] as string] as const);
}

/** v1 nodes start with a taint that is removed once the node is matched with its claim. */
export function nodeTaints(bootstrap: Bootstrap): readonly Taint[] {
  const { taints, generation } = bootstrap;
  const known = taints.some((taint) => taint.key === UNREGISTERED_NO_EXECUTE_TAINT.key);
  return generation === "v1" && !known ? [...taints, UNREGISTERED_NO_EXECUTE_TAINT] : taints;
}

/** The DNS servers for the node: the user's, else kube-dns. */
export function dnsServers({ kubelet, dnsIp }: Bootstrap): readonly string[] {
  const own = kubelet?.clusterDNS ?? [];
  if (own.length > 0) return own;
  return dnsIp === undefined ? [] : [dnsIp];
}

/** `--node-labels="k=v,…"`, or undefined when there are none. */
export function labelsFlag(bootstrap: Bootstrap): string | undefined {
  const pairs = nodeLabels(bootstrap).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? undefined : `--node-labels="${pairs.join(",")}"`;
}

/** Kubelet flags in upstream's order, joined by spaces: AL2, Ubuntu and Windows. */
export function kubeletFlags(bootstrap: Bootstrap): string {
  const kubelet = bootstrap.kubelet ?? {};
  const taints = nodeTaints(bootstrap).map(formatTaint);
  const flags: (string | undefined)[] = [
    labelsFlag(bootstrap),
    taints.length === 0 ? undefined : `--register-with-taints="${taints.join(",")}"`,
    `--max-pods=${bootstrap.maxPods}`,
    numberFlag("pods-per-core", kubelet.podsPerCore),
    mapFlag("system-reserved", kubelet.systemReserved, "="),
    mapFlag("kube-reserved", kubelet.kubeReserved, "="),
    mapFlag("eviction-hard", kubelet.evictionHard, "<"),
    mapFlag("eviction-soft", kubelet.evictionSoft, "<"),
    mapFlag("eviction-soft-grace-period", durations(kubelet.evictionSoftGracePeriod), "="),
    numberFlag("eviction-max-pod-grace-period", kubelet.evictionMaxPodGracePeriod),
    numberFlag("image-gc-high-threshold", kubelet.imageGCHighThresholdPercent),
    numberFlag("image-gc-low-threshold", kubelet.imageGCLowThresholdPercent),
    kubelet.cpuCFSQuota === undefined ? undefined : `--cpu-cfs-quota=${kubelet.cpuCFSQuota}`,
  ];
  return flags.filter((flag) => flag !== undefined).join(" ");
}

function numberFlag(name: string, value: number | undefined): string | undefined {
  return value === undefined ? undefined : `--${name}=${value}`;
}

function mapFlag(
  name: string,
  map: ResourceAmounts | undefined,
  sign: "=" | "<",
): string | undefined {
  const keys = Object.keys(map ?? {}).sort();
  if (map === undefined || keys.length === 0) return undefined;
  return `--${name}="${keys.map((key) => `${key}${sign}${map[key]}`).join(",")}"`;
}

/** Durations in Go's format. Text that is not a duration is left unchanged. */
export function durations(
  map: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (map === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(map).map(([key, text]) => {
      const ms = parseDuration(text);
      return [key, ms === undefined ? text : formatDuration(ms)];
    }),
  );
}
