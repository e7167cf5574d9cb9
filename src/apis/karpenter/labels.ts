/**
 * Labels, annotations, taints and finalizers of Karpenter's own group, and which label keys users may set.
 * Constants have upstream's names, so that one search finds both. upstream: pkg/apis/v1/labels.go,
 * pkg/apis/v1/taints.go (and v1alpha5, v1beta1 for the older names)
 */
import type { Taint } from "../core/node.ts";

const GROUP = "karpenter.sh";

/** Well-known label of Kubernetes: the zone. */
export const TOPOLOGY_ZONE_LABEL_KEY = "topology.kubernetes.io/zone";
/** Well-known label of Kubernetes: the region. */
export const TOPOLOGY_REGION_LABEL_KEY = "topology.kubernetes.io/region";
/** Well-known label of Kubernetes: the instance type. */
export const INSTANCE_TYPE_LABEL_KEY = "node.kubernetes.io/instance-type";
/** Well-known label of Kubernetes: `amd64` or `arm64`. */
export const ARCH_LABEL_KEY = "kubernetes.io/arch";
/** Well-known label of Kubernetes: `linux` or `windows`. */
export const OS_LABEL_KEY = "kubernetes.io/os";
/** Well-known label of Kubernetes: one value for each node. */
export const HOSTNAME_LABEL_KEY = "kubernetes.io/hostname";
/** Well-known label of Kubernetes, such as `10.0.20348`. */
export const WINDOWS_BUILD_LABEL_KEY = "node.kubernetes.io/windows-build";
/** On nodes that drain: load balancers stop sending traffic to them. */
export const EXCLUDE_BALANCERS_LABEL_KEY =
  "node.kubernetes.io/exclude-from-external-load-balancers";

/** The owner of a claim and its node, in v1 and v1beta1. */
export const NODEPOOL_LABEL_KEY = "karpenter.sh/nodepool";
/** On nodes and claims of v1alpha5: the name of their Provisioner. */
export const PROVISIONER_NAME_LABEL_KEY = "karpenter.sh/provisioner-name";
/** `true` once the node is initialized. */
export const NODE_INITIALIZED_LABEL_KEY = "karpenter.sh/initialized";
/** `true` once the node is registered. */
export const NODE_REGISTERED_LABEL_KEY = "karpenter.sh/registered";
/** `true`: registration leaves the Node's taints as they are. */
export const NODE_DO_NOT_SYNC_TAINTS_LABEL_KEY = "karpenter.sh/do-not-sync-taints";
/** `spot`, `on-demand` or `reserved`. */
export const CAPACITY_TYPE_LABEL_KEY = "karpenter.sh/capacity-type";

/** Cheaper; the cloud may take the instance back after a warning of two minutes. */
export const CAPACITY_TYPE_SPOT = "spot";
/** Bought at the list price. The cloud does not reclaim it. */
export const CAPACITY_TYPE_ON_DEMAND = "on-demand";
/** In a reservation, which is paid for already. */
export const CAPACITY_TYPE_RESERVED = "reserved";

/** On pods, nodes and claims: no voluntary disruption. On pods also a duration. */
export const DO_NOT_DISRUPT_ANNOTATION_KEY = "karpenter.sh/do-not-disrupt";
/** On Nodes and claims, `true`: node repair ignores the node. */
export const DO_NOT_REPAIR_ANNOTATION_KEY = "karpenter.sh/do-not-repair";
/** On claims: the boot ID of the Node before the requested reboot. */
export const REBOOT_PRE_BOOT_ID_ANNOTATION_KEY = "karpenter.sh/reboot-pre-boot-id";
/** On claims: the longest time of the drain before a reboot, as a Go duration. Absent: no bound; 0: no drain. */
export const REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY =
  "karpenter.sh/reboot-termination-grace-period";
/** On claims: when repair requested the last reboots, as comma-separated RFC 3339 times. karpenter-ts only. */
export const REBOOTS_ANNOTATION_KEY = "karpenter.sh/repair-reboots";
/** The form of do-not-disrupt in v1alpha5 and v1beta1. */
export const DO_NOT_EVICT_ANNOTATION_KEY = "karpenter.sh/do-not-evict";
/** The older form of do-not-disrupt, on nodes of v1alpha5. */
export const DO_NOT_CONSOLIDATE_ANNOTATION_KEY = "karpenter.sh/do-not-consolidate";
/** Keeps a v1alpha5 provider block through conversion. */
export const PROVIDER_COMPATIBILITY_ANNOTATION_KEY = "compatibility.karpenter.sh/provider";
/** RFC 3339: since when a v1alpha5 node is empty. */
export const EMPTINESS_TIMESTAMP_ANNOTATION_KEY = "karpenter.sh/emptiness-timestamp";
/** Version of the hash's rules; hashes of another version are not compared. */
export const NODEPOOL_HASH_VERSION_ANNOTATION_KEY = "karpenter.sh/nodepool-hash-version";
/** RFC 3339: when the drain ends and all pods are deleted. */
export const NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY =
  "karpenter.sh/nodeclaim-termination-timestamp";
/** `true`: the claim was planned with fewer values than minValues asks for. */
export const NODECLAIM_MIN_VALUES_RELAXED_ANNOTATION_KEY =
  "karpenter.sh/nodeclaim-min-values-relaxed";
/** On claims: a NodeOverlay changed the price. */
export const PRICE_OVERLAY_APPLIED_ANNOTATION_KEY = "karpenter.sh/price-overlay-applied";
/** On claims: a NodeOverlay changed the capacity. */
export const CAPACITY_OVERLAY_APPLIED_ANNOTATION_KEY = "karpenter.sh/capacity-overlay-applied";
/** On pods: the cost of moving them, an int32. Consolidation prefers nodes whose pods have low costs. */
export const DISRUPTION_COST_ANNOTATION_KEY = "karpenter.sh/disruption-cost";
/**
 * On pods: the deletion cost that Karpenter wrote. If the pod has another one, a user wrote that.
 * karpenter-ts only.
 */
export const MANAGED_DELETION_COST_ANNOTATION_KEY = "karpenter.sh/managed-pod-deletion-cost";
/** On claims: the device drivers that the claim's pods need, comma-separated. upstream: pkg/apis/v1/labels.go */
export const REQUESTED_DRA_DRIVERS_ANNOTATION_KEY = "karpenter.sh/requested-dra-drivers";
/** The object was written again in the stored version. */
export const STORED_VERSION_MIGRATED_ANNOTATION_KEY = "karpenter.sh/stored-version-migrated";

/** Keeps the kubelet settings of a v1beta1 pool through conversion to v1. */
export const KUBELET_COMPATIBILITY_ANNOTATION_KEY =
  "compatibility.karpenter.sh/v1beta1-kubelet-conversion";
/** Keeps a v1beta1 reference through conversion to v1. */
export const NODECLASS_REFERENCE_ANNOTATION_KEY =
  "compatibility.karpenter.sh/v1beta1-nodeclass-reference";
/** karpenter-ts only: `v1beta1` on objects that follow the rules of v1beta1. */
export const GENERATION_ANNOTATION_KEY = "compatibility.karpenter.sh/generation";
/** karpenter-ts only: the lifetime in the hash of a v1beta1 claim, if it differs from the claim's own. */
export const HASHED_LIFETIME_ANNOTATION_KEY = "compatibility.karpenter.sh/hashed-expire-after";
/** karpenter-ts only: JSON of the v1 fields that v1beta1 does not have. */
export const V1_ONLY_ANNOTATION_KEY = "compatibility.karpenter.sh/v1-only";

/**
 * karpenter-ts only, an annotation on Pods: the longest lifetime of a node that is launched for the pod. A
 * label on such nodes and their claims.
 */
export const MAX_RUN_DURATION_KEY = "karpenter.sh/max-run-duration";
/** karpenter-ts only, on a pool: which of its nodes return to preferred capacity, see apis/hub/returns.ts. */
export const RETURN_TO_PREFERRED_ANNOTATION_KEY = "karpenter.sh/return-to-preferred";
/** karpenter-ts only, on a Namespace: the pool for pods that select none. `provisioner/NAME` is a Provisioner. */
export const DEFAULT_NODEPOOL_ANNOTATION_KEY = "karpenter.sh/default-nodepool";
/** karpenter-ts only, on a pool: `true` pauses all voluntary disruption of its nodes. */
export const DISRUPTION_PAUSED_ANNOTATION_KEY = "karpenter.sh/disruption-paused";
/** karpenter-ts only, on a claim: JSON of the pods it was planned for, see core/state/planned-pods.ts. */
export const PLANNED_PODS_ANNOTATION_KEY = "karpenter.sh/planned-pods";
/** karpenter-ts only: JSON of the command that removes the claim's node, so that a new leader can continue it. */
export const DISRUPTION_COMMAND_ANNOTATION_KEY = "karpenter.sh/disruption-command";
/** karpenter-ts only, on a replacement: the id of its command. */
export const REPLACEMENT_ANNOTATION_KEY = "karpenter.sh/replacement-for-command";

/** karpenter-ts only, on a Deployment or its pods: `true` asks for a new pod elsewhere before the old one ends. */
export const ZERO_DOWNTIME_ANNOTATION_KEY = "karpenter.sh/zero-downtime";
/** karpenter-ts only, on a Deployment's pod template: when it was rolled out so that a pod leaves a node. */
export const SURGED_AT_ANNOTATION_KEY = "karpenter.sh/surged-at";
/** karpenter-ts only, on a claim: JSON of the pods that were moved to its node. */
export const MOVES_ANNOTATION_KEY = "karpenter.sh/disruption-moves";
/** karpenter-ts only, on a NodePool: JSON of the results of its last repacks. */
export const REPACK_OUTCOME_ANNOTATION_KEY = "karpenter.sh/repack-outcome";
/** karpenter-ts only, on a NodePool: JSON of how many replacements failed in a row, and of the wait after that. */
export const REPLACEMENTS_FAILED_ANNOTATION_KEY = "karpenter.sh/replacements-failed";
/** Annotations of NodePools and Provisioners that Karpenter writes. Users write all others. */
export const WRITTEN_POOL_ANNOTATION_KEYS: ReadonlySet<string> = new Set([
  "karpenter.sh/nodepool-hash",
  "karpenter.sh/provisioner-hash",
  NODEPOOL_HASH_VERSION_ANNOTATION_KEY,
  STORED_VERSION_MIGRATED_ANNOTATION_KEY,
  REPACK_OUTCOME_ANNOTATION_KEY,
  REPLACEMENTS_FAILED_ANNOTATION_KEY,
]);

/** On nodes and claims: keeps them until the node is drained and the instance is gone. */
export const TERMINATION_FINALIZER = "karpenter.sh/termination";

/**
 * karpenter-ts only, with the effect PreferNoSchedule: pods that a command moves should prefer other nodes.
 * It is on a node for seconds only.
 */
export const OTHERS_FIRST_TAINT_KEY = "karpenter.sh/other-nodes-first";

const DISRUPTED_TAINT_KEY = "karpenter.sh/disrupted";
/** On Nodes that have joined and are not registered yet. */
export const UNREGISTERED_TAINT_KEY = "karpenter.sh/unregistered";
/** The key of v1beta1's disruption taint. */
const DISRUPTION_TAINT_KEY = "karpenter.sh/disruption";
const DISRUPTING_TAINT_VALUE = "disrupting";

/** On nodes that are being disrupted or deleted (v1). */
export const DISRUPTED_NO_SCHEDULE_TAINT: Taint = {
  key: DISRUPTED_TAINT_KEY,
  effect: "NoSchedule",
};
/** On a Node while it is drained for a reboot and until it is back. Its pods wait for it. */
export const REBOOTING_NO_SCHEDULE_TAINT: Taint = {
  key: "karpenter.sh/rebooting",
  effect: "NoSchedule",
};
/** On nodes that are being disrupted or deleted (v1beta1). */
export const DISRUPTION_NO_SCHEDULE_TAINT: Taint = {
  key: DISRUPTION_TAINT_KEY,
  value: DISRUPTING_TAINT_VALUE,
  effect: "NoSchedule",
};
/** On a new Node until registration has synced its labels and taints. */
export const UNREGISTERED_NO_EXECUTE_TAINT: Taint = {
  key: UNREGISTERED_TAINT_KEY,
  effect: "NoExecute",
};

/** Taints that a node may have while it starts. They are ignored until it is initialized. */
export const KNOWN_EPHEMERAL_TAINTS: readonly Taint[] = [
  { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
  { key: "node.kubernetes.io/not-ready", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" },
  { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
  UNREGISTERED_NO_EXECUTE_TAINT,
];

/** Prefix of the taints of readiness gates, which are temporary too. */
export const READINESS_TAINT_PREFIX = "readiness.k8s.io/";

/** Labels that Karpenter understands: never restricted. A claim need not define them. */
export const WELL_KNOWN_LABELS: readonly string[] = [
  NODEPOOL_LABEL_KEY,
  TOPOLOGY_ZONE_LABEL_KEY,
  TOPOLOGY_REGION_LABEL_KEY,
  INSTANCE_TYPE_LABEL_KEY,
  ARCH_LABEL_KEY,
  OS_LABEL_KEY,
  CAPACITY_TYPE_LABEL_KEY,
  WINDOWS_BUILD_LABEL_KEY,
];

const RESTRICTED_LABEL_DOMAINS: readonly string[] = [GROUP];
const RESTRICTED_LABELS: readonly string[] = [HOSTNAME_LABEL_KEY];

/** The stable key for each older key. */
export const NORMALIZED_LABELS: ReadonlyMap<string, string> = new Map([
  ["failure-domain.beta.kubernetes.io/zone", TOPOLOGY_ZONE_LABEL_KEY],
  ["failure-domain.beta.kubernetes.io/region", TOPOLOGY_REGION_LABEL_KEY],
  ["beta.kubernetes.io/arch", ARCH_LABEL_KEY],
  ["beta.kubernetes.io/os", OS_LABEL_KEY],
  ["beta.kubernetes.io/instance-type", INSTANCE_TYPE_LABEL_KEY],
]);

/** The stable key for a label key. */
export function normalizedLabel(key: string): string {
  return NORMALIZED_LABELS.get(key) ?? key;
}

/** The part before the slash; `""` if there is none. */
export function labelDomain(key: string): string {
  const slash = key.indexOf("/");
  return slash < 0 ? "" : key.slice(0, slash);
}

/** Whether `domain` is `of` or a subdomain of it: `a.karpenter.sh` is below `karpenter.sh`. */
export function isDomainOrBelow(domain: string, of: string): boolean {
  return domain === of || domain.endsWith(`.${of}`);
}

/**
 * Whether pools and pods must not use this key: Karpenter's own domain and the hostname, except for
 * well-known labels. `alsoKnown` are the provider's well-known labels. upstream: IsRestrictedLabel
 */
export function isRestrictedLabel(key: string, alsoKnown: readonly string[] = []): boolean {
  if (WELL_KNOWN_LABELS.includes(key) || alsoKnown.includes(key)) return false;
  if (RESTRICTED_LABELS.includes(key)) return true;
  const domain = labelDomain(key);
  return RESTRICTED_LABEL_DOMAINS.some((restricted) => isDomainOrBelow(domain, restricted));
}

/**
 * Whether a requirement's key must not become a node label. Restricted and well-known labels come from the
 * launched instance instead. upstream: IsRestrictedNodeLabel
 */
export function isRestrictedNodeLabel(key: string, alsoKnown: readonly string[] = []): boolean {
  if (WELL_KNOWN_LABELS.includes(key) || alsoKnown.includes(key)) return true;
  return isRestrictedLabel(key, alsoKnown);
}

/** `karpenter.k8s.aws/ec2nodeclass`: the label that names the node class on claims and nodes. */
export function nodeClassLabelKey(ref: { readonly group: string; readonly kind: string }): string {
  return `${ref.group}/${ref.kind.toLowerCase()}`;
}

/**
 * karpenter-ts only, on one pool: numbers of nodes that ended without a request, by minute, so that a new
 * leader can go on counting.
 */
export const INVOLUNTARY_ENDS_ANNOTATION_KEY = "karpenter.sh/involuntary-ends";

/**
 * karpenter-ts only, on any pool, an RFC 3339 time: releases the brake on involuntary ends if the brake began
 * before this time.
 */
export const INVOLUNTARY_ENDS_RELEASED_ANNOTATION_KEY = "karpenter.sh/involuntary-ends-released";

/**
 * karpenter-ts only. A tag of everything that a launch creates, and an annotation in the answers of
 * `CloudProvider.list`: the UID of the cluster's namespace kube-system. Two clusters may have the same name.
 */
export const CLUSTER_UID_KEY = "karpenter.sh/cluster-uid";

/** On pods that only represent the room of a CapacityBuffer. They are never stored. */
export const CAPACITY_BUFFER_FAKE_POD_ANNOTATION_KEY = "karpenter.sh/capacity-buffer-fake-pod";
/** Name of the CapacityBuffer of such a pod. */
export const CAPACITY_BUFFER_NAME_ANNOTATION_KEY = "karpenter.sh/capacity-buffer-name";
/** Namespace of that CapacityBuffer. */
export const CAPACITY_BUFFER_NAMESPACE_ANNOTATION_KEY = "karpenter.sh/capacity-buffer-namespace";
