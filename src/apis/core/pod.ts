/**
 * The Pod kind: the fields that scheduling, draining and the sandbox read, and simple questions about a pod, such as
 * `isProvisionable`. Questions that need labels or the time are in pod-predicates.ts.
 */
import type { Condition, Kind, KubeObject, LabelSelector, ResourceAmounts } from "../meta.ts";

/** A port of a container. `hostPort`: the port of the node that it uses. Two pods with the same one need two nodes. */
export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

/** The resources of a container. Scheduling counts requests. A limit without a request counts as the request. */
export interface ResourceRequirements {
  readonly requests?: ResourceAmounts;
  readonly limits?: ResourceAmounts;
}

/**
 * A container of a pod. An init container with `restartPolicy: Always` is a sidecar, which counts while the pod runs.
 */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly ports?: readonly ContainerPort[];
  readonly resources?: ResourceRequirements;
  /** `Always` makes an init container a sidecar. */
  readonly restartPolicy?: string;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler };
}

/** An action before a container is stopped. */
export interface LifecycleHandler {
  readonly sleep?: { readonly seconds: number };
  readonly exec?: { readonly command?: readonly string[] };
}

/**
 * A toleration. Without a key, `Exists` tolerates every taint. Without an effect, every effect of the key is tolerated.
 */
export interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal" | "Lt" | "Gt";
  readonly value?: string;
  readonly effect?: TaintEffect;
  readonly tolerationSeconds?: number;
}

/** What a taint does to pods that do not tolerate it. */
export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

/** A requirement on a label of nodes. `Gt` and `Lt` compare whole numbers, and have one value. */
export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values?: readonly string[];
}

/** A set of requirements, all of which must match. An empty term matches no node. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

/** Rules about nodes. Required terms are alternatives. Preferred ones have a weight from 1 to 100. */
export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
  };
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly preference: NodeSelectorTerm;
  }[];
}

/**
 * Selects pods that match the selector, in these namespaces, within one value of `topologyKey`. Without namespaces,
 * only pods of the pod's own namespace count.
 */
export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** Rules about other pods. All required terms must be met. Preferred ones have a weight from 1 to 100. */
export interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly podAffinityTerm: PodAffinityTerm;
  }[];
}

/** Rules about nodes (nodeAffinity), about pods to be near to, and about pods to keep away from. */
export interface Affinity {
  readonly nodeAffinity?: NodeAffinity;
  readonly podAffinity?: PodAffinity;
  readonly podAntiAffinity?: PodAffinity;
}

/**
 * A topology spread: the number of matching pods may differ by at most `maxSkew` between the values of `topologyKey`.
 */
export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: "DoNotSchedule" | "ScheduleAnyway";
  readonly labelSelector?: LabelSelector;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: "Honor" | "Ignore";
  readonly nodeTaintsPolicy?: "Honor" | "Ignore";
  readonly matchLabelKeys?: readonly string[];
}

/**
 * A volume of a pod. Volume claims and ephemeral volumes limit where a pod can run. All other sources are kept as
 * written.
 */
export interface Volume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly ephemeral?: {
    readonly volumeClaimTemplate?: {
      readonly metadata?: Pick<KubeObject["metadata"], "annotations" | "labels">;
      readonly spec: PersistentVolumeClaimSpecLike;
    };
  };
  readonly [source: string]: unknown;
}

/** The part of a volume claim's spec that an ephemeral volume contains. */
export interface PersistentVolumeClaimSpecLike {
  readonly storageClassName?: string;
  readonly volumeName?: string;
  readonly accessModes?: readonly string[];
  readonly resources?: ResourceRequirements;
}

/** The spec of a pod. `nodeName` is set when the pod is bound. */
export interface PodSpec {
  readonly nodeName?: string;
  readonly schedulerName?: string;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: ResourceAmounts;
  readonly resources?: ResourceRequirements;
  readonly volumes?: readonly Volume[];
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly preemptionPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly restartPolicy?: string;
  readonly hostNetwork?: boolean;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly serviceAccountName?: string;
  readonly [field: string]: unknown;
}

/** The status of a container. `allocatedResources`: what the kubelet has allocated while a resize is in progress. */
export interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly allocatedResources?: ResourceAmounts;
  readonly resources?: ResourceRequirements;
  readonly [field: string]: unknown;
}

/** The status of a pod. The phases Succeeded and Failed are final: the pod uses no resources any more. */
export interface PodStatus {
  readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
  readonly conditions?: readonly Condition[];
  readonly nominatedNodeName?: string;
  readonly startTime?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  /** What the kubelet allocated for the whole pod, if the pod has pod-level resources (Kubernetes 1.35). */
  readonly allocatedResources?: ResourceAmounts;
  readonly resources?: ResourceRequirements;
  readonly reason?: string;
  readonly message?: string;
  readonly [field: string]: unknown;
}

/** A Pod of core/v1. Fields that neither scheduling nor the simulated kubelet reads are left out. */
export interface Pod extends KubeObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export const POD: Kind<Pod> = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
};

/** Whether the pod has finished: Succeeded or Failed. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Whether the pod is being deleted. */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** Whether the pod has not finished and is not being deleted. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && !isTerminating(pod);
}

/** Whether the pod is bound to a node. */
export function isScheduled(pod: Pod): boolean {
  return Boolean(pod.spec.nodeName);
}

/** Whether the pod belongs to a DaemonSet. Such a pod counts as overhead of its node, and is never moved. */
export function isOwnedByDaemonSet(pod: Pod): boolean {
  return isOwnedBy(pod, "apps/v1", "DaemonSet");
}

/** Whether the pod is the mirror of a static pod, which belongs to its kubelet and cannot be moved. */
export function isOwnedByNode(pod: Pod): boolean {
  return isOwnedBy(pod, "v1", "Node");
}

/**
 * Whether the pod belongs to a StatefulSet. Its successor has the same name, and so starts only after this one has
 * stopped.
 */
export function isOwnedByStatefulSet(pod: Pod): boolean {
  return isOwnedBy(pod, "apps/v1", "StatefulSet");
}

/**
 * The name of the pod's Deployment. Undefined: it has none. The name of the ReplicaSet is the Deployment's name plus
 * the hash of the template.
 */
export function deploymentNameOf({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const hash = metadata.labels?.["pod-template-hash"];
  if (owner?.kind !== "ReplicaSet" || hash === undefined) return undefined;
  return owner.name.endsWith(`-${hash}`) ? owner.name.slice(0, -hash.length - 1) : undefined;
}

function isOwnedBy(pod: Pod, apiVersion: string, kind: string): boolean {
  return (
    pod.metadata.ownerReferences?.some(
      (owner) => owner.apiVersion === apiVersion && owner.kind === kind,
    ) ?? false
  );
}

/** Whether kube-scheduler tried to place the pod and found no node. */
function isUnschedulable(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(
      (one) => one.type === "PodScheduled" && one.reason === "Unschedulable",
    ) ?? false
  );
}

/** Whether kube-scheduler nominated a node for the pod, on which it makes room by preemption. */
export function isPreempting(pod: Pod): boolean {
  return Boolean(pod.status?.nominatedNodeName);
}

/** Whether a new node could help this pod. The provisioner considers only such pods. */
export function isProvisionable(pod: Pod): boolean {
  return (
    isUnschedulable(pod) &&
    !isScheduled(pod) &&
    !isPreempting(pod) &&
    !isTerminal(pod) &&
    !isTerminating(pod) &&
    !isOwnedByDaemonSet(pod) &&
    !isOwnedByNode(pod)
  );
}
