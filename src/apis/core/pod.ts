/**
 * The Pod kind: the fields that scheduling, draining and the sandbox read, and simple questions about a pod,
 * such as `isProvisionable`. Questions that need labels or the time are in pod-predicates.ts.
 */
import type { Condition, Kind, KubeObject, LabelSelector, ResourceAmounts } from "../meta.ts";

/** `hostPort` takes the port on the node, so that two pods with the same one need two nodes. */
export interface ContainerPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
}

/** Scheduling counts requests. A limit without a request counts as the request. */
export interface ResourceRequirements {
  readonly requests?: ResourceAmounts;
  readonly limits?: ResourceAmounts;
}

/**
 * A container of a pod; an init container with `restartPolicy: Always` is a sidecar and counts while the pod runs.
 */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly ports?: readonly ContainerPort[];
  readonly resources?: ResourceRequirements;
  /** `Always` on an init container makes it a sidecar. */
  readonly restartPolicy?: string;
  readonly lifecycle?: { readonly preStop?: LifecycleHandler };
}

/** An action before a container is stopped. */
export interface LifecycleHandler {
  readonly sleep?: { readonly seconds: number };
  readonly exec?: { readonly command?: readonly string[] };
}

/** Without a key, `Exists` tolerates every taint; without an effect, every effect of the key. */
export interface Toleration {
  readonly key?: string;
  readonly operator?: "Exists" | "Equal" | "Lt" | "Gt";
  readonly value?: string;
  readonly effect?: TaintEffect;
  readonly tolerationSeconds?: number;
}

/** What a taint does to pods that do not tolerate it. */
export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

/** `Gt` and `Lt` compare whole numbers, and take one value. */
export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt";
  readonly values?: readonly string[];
}

/** All expressions must hold. An empty term matches no node. */
export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

/** Required terms are alternatives. Preferred ones have a weight from 1 to 100. */
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
 * Pods that match the selector, in these namespaces, within one value of `topologyKey`. Without namespaces:
 * in the pod's own.
 */
export interface PodAffinityTerm {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** All required terms must hold. Preferred ones have a weight from 1 to 100. */
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

/** The number of matching pods may differ by at most `maxSkew` between the values of `topologyKey`. */
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

/** Claims and ephemeral claims limit where a pod can run. Every other source is kept as it was written. */
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

/** The part of a claim's spec that an ephemeral volume embeds. */
export interface PersistentVolumeClaimSpecLike {
  readonly storageClassName?: string;
  readonly volumeName?: string;
  readonly accessModes?: readonly string[];
  readonly resources?: ResourceRequirements;
}

/** `nodeName` is set when the pod is bound. */
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

/** `allocatedResources` is what the kubelet holds while a resize is under way. */
export interface ContainerStatus {
  readonly name: string;
  readonly ready: boolean;
  readonly allocatedResources?: ResourceAmounts;
  readonly resources?: ResourceRequirements;
  readonly [field: string]: unknown;
}

/** The phases Succeeded and Failed are final: the pod uses no resources any more. */
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

/** core/v1. Fields that neither scheduling nor the simulated kubelet reads are left out. */
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

/** Whether the pod has ended: Succeeded or Failed. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Whether the pod is being deleted. */
export function isTerminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** Whether the pod has neither ended nor is being deleted. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && !isTerminating(pod);
}

/** Whether the pod is bound to a node. */
function isScheduled(pod: Pod): boolean {
  return Boolean(pod.spec.nodeName);
}

/** True for a daemon: it is counted as overhead of a node, and never moved. */
export function isOwnedByDaemonSet(pod: Pod): boolean {
  return isOwnedBy(pod, "apps/v1", "DaemonSet");
}

/** True for the mirror of a static pod, which belongs to its kubelet and cannot be moved. */
export function isOwnedByNode(pod: Pod): boolean {
  return isOwnedBy(pod, "v1", "Node");
}

/** True for a pod whose successor has the same name, and so starts only after this one has ended. */
export function isOwnedByStatefulSet(pod: Pod): boolean {
  return isOwnedBy(pod, "apps/v1", "StatefulSet");
}

/**
 * The name of the pod's Deployment. Undefined if it has none. The ReplicaSet's name is that of the Deployment
 * plus the template's hash.
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

/** Whether the scheduler tried and found no node. */
function isUnschedulable(pod: Pod): boolean {
  return (
    pod.status?.conditions?.some(
      (one) => one.type === "PodScheduled" && one.reason === "Unschedulable",
    ) ?? false
  );
}

/** Whether the scheduler nominated a node, on which it makes room by preemption. */
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
