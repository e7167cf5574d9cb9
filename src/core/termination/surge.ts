/**
 * Moves without downtime: the new pod of a workload runs elsewhere before the old one ends. They are for Deployments
 * with one replica and the annotation `karpenter.sh/zero-downtime`. When the node is cordoned, such a Deployment is
 * restarted as by `kubectl rollout restart`. Whoever may patch Deployments can run anything in their namespace, so this
 * works only in the namespaces of `--surge-namespaces`. Other pods are evicted, and an event says why. Workloads with
 * several replicas should use PodDisruptionBudgets instead. karpenter-ts only; upstream only evicts.
 */
import type { Deployment } from "../../apis/apps/kinds.ts";
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { deploymentNameOf, isTerminating, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import {
  SURGED_AT_ANNOTATION_KEY,
  ZERO_DOWNTIME_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import { fromRfc3339 } from "../../base/clock.ts";

/** The objects and settings that decide whether a pod can be moved without downtime. */
export interface Workloads {
  /** Namespaces whose Deployments may be restarted. `*`: all. */
  readonly surgeNamespaces: readonly string[];
  /** The Deployment with this key (`namespace/name`). */
  deployment(key: string): Deployment | undefined;
  volumeClaim(key: string): PersistentVolumeClaim | undefined;
}

/**
 * Whether a pod is moved without downtime:
 * - `none`: its annotation does not request that, or the pod is not Ready or ends already.
 * - `able`: its Deployment can be restarted now.
 * - `rolling`: a rollout of its Deployment is in progress, and the pod ends once the new pod is available. `ours`:
 *   whether Karpenter started the rollout.
 * - `unable`: the annotation requests that, but it is not possible because of `why`.
 */
export type Surge =
  | { readonly kind: "none" }
  | { readonly kind: "able"; readonly deployment: Deployment }
  | { readonly kind: "rolling"; readonly deployment: Deployment; readonly ours: boolean }
  | { readonly kind: "unable"; readonly why: string };

/** How the pod is moved off a node that is being drained. */
export function surgeOf(pod: Pod, workloads: Workloads): Surge {
  const deployment = deploymentOf(pod, workloads);
  const asked =
    deployment?.metadata.annotations?.[ZERO_DOWNTIME_ANNOTATION_KEY] ??
    pod.metadata.annotations?.[ZERO_DOWNTIME_ANNOTATION_KEY];
  // A terminating pod stays Ready until it ends, but its Deployment has created a new pod already.
  if (asked !== "true" || !isReady(pod) || isTerminating(pod)) return { kind: "none" };
  const refusal = notGranted(pod, workloads);
  if (refusal !== undefined) return { kind: "unable", why: refusal };
  if (deployment === undefined) return { kind: "unable", why: "no Deployment of its is known" };
  if (isStampedAfter(deployment, pod)) return { kind: "rolling", deployment, ours: true };
  const why = obstacle(deployment) ?? volumeObstacle(pod, workloads);
  if (why !== undefined) return { kind: "unable", why };
  return isRolling(deployment)
    ? { kind: "rolling", deployment, ours: false }
    : { kind: "able", deployment };
}

/** Why a pod cannot be moved without downtime although that is requested. Undefined: it can, or it is not requested. */
export function surgeProblem(surge: Surge): string | undefined {
  return surge.kind === "unable" ? surge.why : undefined;
}

function notGranted({ metadata }: Pod, { surgeNamespaces }: Workloads): string | undefined {
  const { namespace = "" } = metadata;
  if (surgeNamespaces.includes("*") || surgeNamespaces.includes(namespace)) return undefined;
  return `Karpenter may not patch Deployments in namespace ${namespace}; grant it with the chart's settings.surgeNamespaces (--surge-namespaces)`;
}

/** Whether the Deployment or its pod template has the annotation. */
export function asksToSurge({ metadata, spec }: Deployment): boolean {
  const key = ZERO_DOWNTIME_ANNOTATION_KEY;
  const own = spec.template.metadata?.annotations;
  return (metadata.annotations?.[key] ?? own?.[key]) === "true";
}

function deploymentOf(pod: Pod, workloads: Workloads): Deployment | undefined {
  const name = deploymentNameOf(pod);
  return name === undefined ? undefined : workloads.deployment(`${pod.metadata.namespace}/${name}`);
}

/** Whether Karpenter has restarted the Deployment since the pod was created. */
function isStampedAfter({ spec }: Deployment, { metadata }: Pod): boolean {
  const stamp = spec.template.metadata?.annotations?.[SURGED_AT_ANNOTATION_KEY];
  if (stamp === undefined || stamp === metadata.annotations?.[SURGED_AT_ANNOTATION_KEY])
    return false;
  const bornMs = fromRfc3339(metadata.creationTimestamp) ?? Number.POSITIVE_INFINITY;
  return (fromRfc3339(stamp) ?? 0) >= bornMs;
}

/** Why a restart would not create a new pod before the old one ends. Undefined: it would. */
function obstacle({ spec, status }: Deployment): string | undefined {
  const { replicas = 1, paused, strategy } = spec;
  const { maxSurge = "25%", maxUnavailable = "25%" } = strategy?.rollingUpdate ?? {};
  if (replicas !== 1)
    return `its Deployment has ${replicas} replicas; a PodDisruptionBudget keeps some of them up`;
  if (paused === true) return "its Deployment is paused";
  if (strategy?.type === "Recreate") return "its Deployment's strategy is Recreate";
  if (Number.parseInt(String(maxSurge), 10) === 0) return "its Deployment's maxSurge is 0";
  if (isWhole(maxUnavailable)) return "its Deployment's maxUnavailable lets the old pod go first";
  const progress = status?.conditions?.find(({ type }) => type === "Progressing");
  if (progress?.status === "False") return "its Deployment's rollout does not get on";
  return undefined;
}

/**
 * Whether the amount means one pod for a Deployment of one replica. Kubernetes rounds smaller percentages down to zero.
 */
function isWhole(amount: number | string): boolean {
  const text = String(amount);
  return text.endsWith("%") ? Number.parseInt(text, 10) >= 100 : Number(text) >= 1;
}

/**
 * Why the pod's volumes prevent the move. The new pod runs on another node, so volumes must be mountable on both nodes.
 * Undefined: nothing prevents it.
 */
function volumeObstacle({ metadata, spec }: Pod, workloads: Workloads): string | undefined {
  for (const { persistentVolumeClaim: used } of spec.volumes ?? []) {
    if (used === undefined) continue;
    const claim = workloads.volumeClaim(`${metadata.namespace}/${used.claimName}`);
    const modes = claim?.spec.accessModes ?? [];
    if (!modes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany"))
      return `its volume ${used.claimName} can be on one node only`;
  }
  return undefined;
}

function isRolling({ metadata, spec, status }: Deployment): boolean {
  const { observedGeneration = 0, updatedReplicas = 0, replicas = 0 } = status ?? {};
  return (
    observedGeneration < (metadata.generation ?? 0) ||
    updatedReplicas < (spec.replicas ?? 1) ||
    replicas > updatedReplicas
  );
}
