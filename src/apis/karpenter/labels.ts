/**
 * Labels, annotations, taints and finalizers of Karpenter's own group, and which label keys users may set.
 * Constants have upstream's names, so that one search finds both. upstream: pkg/apis/v1/labels.go,
 * pkg/apis/v1/taints.go (and v1alpha5, v1beta1 for the older names)
 */
import type { Taint } from "../core/node.ts";

const GROUP = "karpenter.sh";

/** The label of Kubernetes for the zone. */
export const TOPOLOGY_ZONE_LABEL_KEY = "topology.kubernetes.io/zone";
/** The label of Kubernetes for the region. */
export const TOPOLOGY_REGION_LABEL_KEY = "topology.kubernetes.io/region";
/** The label of Kubernetes for the instance type. */
export const INSTANCE_TYPE_LABEL_KEY = "node.kubernetes.io/instance-type";
/** The label of Kubernetes for the architecture: `amd64` or `arm64`. */
export const ARCH_LABEL_KEY = "kubernetes.io/arch";
/** The label of Kubernetes for the operating system: `linux` or `windows`. */
export const OS_LABEL_KEY = "kubernetes.io/os";
/** The label of Kubernetes for the host name, which differs for each node. */
export const HOSTNAME_LABEL_KEY = "kubernetes.io/hostname";
/** The label of Kubernetes for the Windows version, such as `10.0.20348`. */
export const WINDOWS_BUILD_LABEL_KEY = "node.kubernetes.io/windows-build";
/** Label of nodes that are drained: load balancers stop sending traffic to them. */
export const EXCLUDE_BALANCERS_LABEL_KEY =
  "node.kubernetes.io/exclude-from-external-load-balancers";

/** Label of claims and nodes with the name of their NodePool, in v1 and v1beta1. */
export const NODEPOOL_LABEL_KEY = "karpenter.sh/nodepool";
/** Label of claims and nodes of v1alpha5 with the name of their Provisioner. */
export const PROVISIONER_NAME_LABEL_KEY = "karpenter.sh/provisioner-name";
/** Label of Nodes: `true` once the node is initialized. */
export const NODE_INITIALIZED_LABEL_KEY = "karpenter.sh/initialized";
/** Label of Nodes: `true` once the node is registered. */
export const NODE_REGISTERED_LABEL_KEY = "karpenter.sh/registered";
/** Label of Nodes: with `true`, registration does not change the Node's taints. */
export const NODE_DO_NOT_SYNC_TAINTS_LABEL_KEY = "karpenter.sh/do-not-sync-taints";
/** The label for the capacity type: `spot`, `on-demand` or `reserved`. */
export const CAPACITY_TYPE_LABEL_KEY = "karpenter.sh/capacity-type";

/** Spot capacity: cheaper, but the cloud may take the instance back after a warning of two minutes. */
export const CAPACITY_TYPE_SPOT = "spot";
/** On-demand capacity: it costs the list price, and the cloud does not take it back. */
export const CAPACITY_TYPE_ON_DEMAND = "on-demand";
/** Capacity in a reservation, which is paid for already. */
export const CAPACITY_TYPE_RESERVED = "reserved";

/** Annotation of pods, nodes and claims that forbids voluntary disruption. On pods it may also be a duration. */
export const DO_NOT_DISRUPT_ANNOTATION_KEY = "karpenter.sh/do-not-disrupt";
/** Annotation of Nodes and claims: with `true`, node repair ignores the node. */
export const DO_NOT_REPAIR_ANNOTATION_KEY = "karpenter.sh/do-not-repair";
/** Annotation of claims with the boot ID of the Node before the requested reboot. */
export const REBOOT_PRE_BOOT_ID_ANNOTATION_KEY = "karpenter.sh/reboot-pre-boot-id";
/**
 * Annotation of claims with the longest time of the drain before a reboot, as a Go duration. Absent: no limit. 0: no
 * drain.
 */
export const REBOOT_TERMINATION_GRACE_PERIOD_ANNOTATION_KEY =
  "karpenter.sh/reboot-termination-grace-period";
/**
 * Annotation of claims with the times at which repair requested the last reboots, comma-separated and as RFC 3339.
 * karpenter-ts only.
 */
export const REBOOTS_ANNOTATION_KEY = "karpenter.sh/repair-reboots";
/** The name of the annotation do-not-disrupt in v1alpha5 and v1beta1. */
export const DO_NOT_EVICT_ANNOTATION_KEY = "karpenter.sh/do-not-evict";
/** An older name of the annotation do-not-disrupt, on nodes of v1alpha5. */
export const DO_NOT_CONSOLIDATE_ANNOTATION_KEY = "karpenter.sh/do-not-consolidate";
/** Annotation that keeps a v1alpha5 provider block through conversion. */
export const PROVIDER_COMPATIBILITY_ANNOTATION_KEY = "compatibility.karpenter.sh/provider";
/** Annotation of v1alpha5 nodes with the time since when they are empty, as RFC 3339. */
export const EMPTINESS_TIMESTAMP_ANNOTATION_KEY = "karpenter.sh/emptiness-timestamp";
/**
 * Annotation with the version of the way in which the hash is computed. Hashes of different versions are not compared.
 */
export const NODEPOOL_HASH_VERSION_ANNOTATION_KEY = "karpenter.sh/nodepool-hash-version";
/** Annotation of claims with the time when the drain ends and all pods are deleted, as RFC 3339. */
export const NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY =
  "karpenter.sh/nodeclaim-termination-timestamp";
/** Annotation of claims: `true` if the claim was planned with fewer values than minValues requires. */
export const NODECLAIM_MIN_VALUES_RELAXED_ANNOTATION_KEY =
  "karpenter.sh/nodeclaim-min-values-relaxed";
/** Annotation of claims whose price a NodeOverlay changed. */
export const PRICE_OVERLAY_APPLIED_ANNOTATION_KEY = "karpenter.sh/price-overlay-applied";
/** Annotation of claims whose capacity a NodeOverlay changed. */
export const CAPACITY_OVERLAY_APPLIED_ANNOTATION_KEY = "karpenter.sh/capacity-overlay-applied";
/** Annotation of pods with the cost of moving them, an int32. Consolidation prefers nodes whose pods have low costs. */
export const DISRUPTION_COST_ANNOTATION_KEY = "karpenter.sh/disruption-cost";
/**
 * Annotation of pods with the deletion cost that Karpenter wrote. If the pod's deletion cost differs from it, a user
 * wrote it. karpenter-ts only.
 */
export const MANAGED_DELETION_COST_ANNOTATION_KEY = "karpenter.sh/managed-pod-deletion-cost";
/**
 * Annotation of claims with the device drivers that the claim's pods need, comma-separated. upstream:
 * pkg/apis/v1/labels.go
 */
export const REQUESTED_DRA_DRIVERS_ANNOTATION_KEY = "karpenter.sh/requested-dra-drivers";
/** Annotation of objects that were written again in the stored version. */
export const STORED_VERSION_MIGRATED_ANNOTATION_KEY = "karpenter.sh/stored-version-migrated";

/** Annotation that keeps the kubelet settings of a v1beta1 pool through conversion to v1. */
export const KUBELET_COMPATIBILITY_ANNOTATION_KEY =
  "compatibility.karpenter.sh/v1beta1-kubelet-conversion";
/** Annotation that keeps a class reference of v1beta1 through conversion to v1. */
export const NODECLASS_REFERENCE_ANNOTATION_KEY =
  "compatibility.karpenter.sh/v1beta1-nodeclass-reference";
/** Annotation: `v1beta1` on objects that follow the rules of v1beta1. karpenter-ts only. */
export const GENERATION_ANNOTATION_KEY = "compatibility.karpenter.sh/generation";
/**
 * Annotation with the lifetime in the hash of a v1beta1 claim, if it differs from the claim's own. karpenter-ts only.
 */
export const HASHED_LIFETIME_ANNOTATION_KEY = "compatibility.karpenter.sh/hashed-expire-after";
/** Annotation with JSON of the v1 fields that v1beta1 does not have. karpenter-ts only. */
export const V1_ONLY_ANNOTATION_KEY = "compatibility.karpenter.sh/v1-only";

/**
 * Annotation of pods with the longest lifetime of a node that is launched for the pod. Also a label of such nodes and
 * their claims. karpenter-ts only.
 */
export const MAX_RUN_DURATION_KEY = "karpenter.sh/max-run-duration";
/**
 * Annotation of pools: which nodes are replaced when preferred capacity is available again (apis/hub/returns.ts).
 * karpenter-ts only.
 */
export const RETURN_TO_PREFERRED_ANNOTATION_KEY = "karpenter.sh/return-to-preferred";
/**
 * Annotation of Namespaces with the pool for pods that select none. `provisioner/NAME` is a Provisioner. karpenter-ts
 * only.
 */
export const DEFAULT_NODEPOOL_ANNOTATION_KEY = "karpenter.sh/default-nodepool";
/** Annotation of pools: `true` pauses all voluntary disruption of their nodes. karpenter-ts only. */
export const DISRUPTION_PAUSED_ANNOTATION_KEY = "karpenter.sh/disruption-paused";
/** Annotation of claims with JSON of the pods they were planned for (core/state/planned-pods.ts). karpenter-ts only. */
export const PLANNED_PODS_ANNOTATION_KEY = "karpenter.sh/planned-pods";
/**
 * Annotation of claims with JSON of the command that removes their node, so that a new leader can continue it.
 * karpenter-ts only.
 */
export const DISRUPTION_COMMAND_ANNOTATION_KEY = "karpenter.sh/disruption-command";
/** Annotation of replacement claims with the id of their command. karpenter-ts only. */
export const REPLACEMENT_ANNOTATION_KEY = "karpenter.sh/replacement-for-command";

/**
 * Annotation of Deployments or their pods: `true` requests a new pod on another node before the old one is stopped.
 * karpenter-ts only.
 */
export const ZERO_DOWNTIME_ANNOTATION_KEY = "karpenter.sh/zero-downtime";
/**
 * Annotation of a Deployment's pod template with the time when it was rolled out to move a pod off a node. karpenter-ts
 * only.
 */
export const SURGED_AT_ANNOTATION_KEY = "karpenter.sh/surged-at";
/** Annotation of claims with JSON of the pods that were moved to their node. karpenter-ts only. */
export const MOVES_ANNOTATION_KEY = "karpenter.sh/disruption-moves";
/** Annotation of NodePools with JSON of the results of their last repacks. karpenter-ts only. */
export const REPACK_OUTCOME_ANNOTATION_KEY = "karpenter.sh/repack-outcome";
/**
 * Annotation of NodePools with JSON of how many replacements failed in a row, and of the wait after that. karpenter-ts
 * only.
 */
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

/** Finalizer that keeps nodes and claims until the node is drained and the instance is gone. */
export const TERMINATION_FINALIZER = "karpenter.sh/termination";

/**
 * Taint with the effect PreferNoSchedule: pods that a command moves should prefer other nodes. A node has it only for
 * seconds. karpenter-ts only.
 */
export const OTHERS_FIRST_TAINT_KEY = "karpenter.sh/other-nodes-first";

const DISRUPTED_TAINT_KEY = "karpenter.sh/disrupted";
/** Taint of Nodes that have joined but are not registered yet. */
export const UNREGISTERED_TAINT_KEY = "karpenter.sh/unregistered";
/** The key of v1beta1's disruption taint. */
const DISRUPTION_TAINT_KEY = "karpenter.sh/disruption";
const DISRUPTING_TAINT_VALUE = "disrupting";

/** Taint of nodes that are being disrupted or deleted (v1). */
export const DISRUPTED_NO_SCHEDULE_TAINT: Taint = {
  key: DISRUPTED_TAINT_KEY,
  effect: "NoSchedule",
};
/** Taint of a Node that is drained for a reboot, until it is back. Its pods wait for it. */
export const REBOOTING_NO_SCHEDULE_TAINT: Taint = {
  key: "karpenter.sh/rebooting",
  effect: "NoSchedule",
};
/** Taint of nodes that are being disrupted or deleted (v1beta1). */
export const DISRUPTION_NO_SCHEDULE_TAINT: Taint = {
  key: DISRUPTION_TAINT_KEY,
  value: DISRUPTING_TAINT_VALUE,
  effect: "NoSchedule",
};
/** Taint of a new Node until registration has copied the claim's labels and taints to it. */
export const UNREGISTERED_NO_EXECUTE_TAINT: Taint = {
  key: UNREGISTERED_TAINT_KEY,
  effect: "NoExecute",
};

/** Taints that a node may have while it starts. They are ignored until the node is initialized. */
export const KNOWN_EPHEMERAL_TAINTS: readonly Taint[] = [
  { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
  { key: "node.kubernetes.io/not-ready", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", effect: "NoSchedule" },
  { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
  UNREGISTERED_NO_EXECUTE_TAINT,
];

/** Prefix of the taints of readiness gates, which are ignored in the same way. */
export const READINESS_TAINT_PREFIX = "readiness.k8s.io/";

/** Labels that Karpenter knows. Users may use all of them, and a claim need not define them. */
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

/** The current label key for each older key. */
export const NORMALIZED_LABELS: ReadonlyMap<string, string> = new Map([
  ["failure-domain.beta.kubernetes.io/zone", TOPOLOGY_ZONE_LABEL_KEY],
  ["failure-domain.beta.kubernetes.io/region", TOPOLOGY_REGION_LABEL_KEY],
  ["beta.kubernetes.io/arch", ARCH_LABEL_KEY],
  ["beta.kubernetes.io/os", OS_LABEL_KEY],
  ["beta.kubernetes.io/instance-type", INSTANCE_TYPE_LABEL_KEY],
]);

/** The current key for a label key, which may be an older one. */
export function normalizedLabel(key: string): string {
  return NORMALIZED_LABELS.get(key) ?? key;
}

/** The part of a label key before the slash. It is `""` if there is no slash. */
export function labelDomain(key: string): string {
  const slash = key.indexOf("/");
  return slash < 0 ? "" : key.slice(0, slash);
}

/** Whether `domain` is `of` or a subdomain of it: `a.karpenter.sh` is below `karpenter.sh`. */
export function isDomainOrBelow(domain: string, of: string): boolean {
  return domain === of || domain.endsWith(`.${of}`);
}

/**
 * Whether pools and pods must not use this key. These are the keys in Karpenter's own domain and the hostname,
 * except well-known labels. `alsoKnown`: the provider's well-known labels.
 * upstream: IsRestrictedLabel
 */
export function isRestrictedLabel(key: string, alsoKnown: readonly string[] = []): boolean {
  if (WELL_KNOWN_LABELS.includes(key) || alsoKnown.includes(key)) return false;
  if (RESTRICTED_LABELS.includes(key)) return true;
  const domain = labelDomain(key);
  return RESTRICTED_LABEL_DOMAINS.some((restricted) => isDomainOrBelow(domain, restricted));
}

/**
 * Whether a requirement's key must not become a node label. Restricted and well-known labels come from the launched
 * instance instead.
 * upstream: IsRestrictedNodeLabel
 */
export function isRestrictedNodeLabel(key: string, alsoKnown: readonly string[] = []): boolean {
  if (WELL_KNOWN_LABELS.includes(key) || alsoKnown.includes(key)) return true;
  return isRestrictedLabel(key, alsoKnown);
}

/** The label of claims and nodes that names their node class, such as `karpenter.k8s.aws/ec2nodeclass`. */
export function nodeClassLabelKey(ref: { readonly group: string; readonly kind: string }): string {
  return `${ref.group}/${ref.kind.toLowerCase()}`;
}

/**
 * Annotation of one pool with the numbers of nodes deleted without a request, by minute. A new leader adds to these
 * numbers. karpenter-ts only.
 */
export const INVOLUNTARY_ENDS_ANNOTATION_KEY = "karpenter.sh/involuntary-ends";

/**
 * Annotation of any pool with a time, as RFC 3339. It releases the brake on involuntary deletions if the brake began
 * before this time. karpenter-ts only.
 */
export const INVOLUNTARY_ENDS_RELEASED_ANNOTATION_KEY = "karpenter.sh/involuntary-ends-released";

/**
 * Tag of everything that a launch creates: the UID of the cluster's namespace kube-system, because two clusters may
 * have the same name. Also an annotation in the results of `CloudProvider.list`. karpenter-ts only.
 */
export const CLUSTER_UID_KEY = "karpenter.sh/cluster-uid";

/** Annotation of pods that only represent the reserved capacity of a CapacityBuffer. Such pods are never stored. */
export const CAPACITY_BUFFER_FAKE_POD_ANNOTATION_KEY = "karpenter.sh/capacity-buffer-fake-pod";
/** Annotation of such a pod with the name of its CapacityBuffer. */
export const CAPACITY_BUFFER_NAME_ANNOTATION_KEY = "karpenter.sh/capacity-buffer-name";
/** Annotation of such a pod with the namespace of its CapacityBuffer. */
export const CAPACITY_BUFFER_NAMESPACE_ANNOTATION_KEY = "karpenter.sh/capacity-buffer-namespace";
