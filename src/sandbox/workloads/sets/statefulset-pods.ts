/**
 * The pods of a StatefulSet: which to create, replace or delete next, what they contain, and how they are
 * counted. An ordered set continues only when the previous pod is up. A Parallel set handles all pods at
 * once.
 */
import type { PodTemplateSpec, StatefulSet } from "../../../apis/apps/kinds.ts";
import { STATEFUL_SET } from "../../../apis/apps/kinds.ts";
import type { PersistentVolumeClaim } from "../../../apis/core/kinds.ts";
import { isTerminal, isTerminating, type Pod, type Volume } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { isAvailable, podOf } from "../controls.ts";

export const REVISION_LABEL = "controller-revision-hash";
const NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL = "apps.kubernetes.io/pod-index";

/** One pod to create or to delete. */
export type SetStep =
  | { readonly do: "create"; readonly ordinal: number }
  | { readonly do: "remove"; readonly pod: Pod };

/** The next actions, in this order. */
export function setSteps(
  set: StatefulSet,
  revision: string,
  pods: readonly Pod[],
  nowMs: number,
): readonly SetStep[] {
  const { first, end } = ordinalsOf(set);
  const inOrder = set.spec.podManagementPolicy !== "Parallel";
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const steps: SetStep[] = [];
  for (let ordinal = first; ordinal < end; ordinal++) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) steps.push({ do: "create", ordinal });
    else if (isTerminal(pod)) steps.push(...removal(pod));
    if (inOrder && !isUp(set, pod, nowMs)) return steps;
  }
  const surplus = [...byOrdinal]
    .filter(([ordinal]) => ordinal < first || ordinal >= end)
    .sort((a, b) => b[0] - a[0]);
  for (const [, pod] of surplus) {
    steps.push(...removal(pod));
    if (inOrder) return steps;
  }
  return [...steps, ...updateSteps(set, revision, byOrdinal, nowMs)];
}

/** Replaces one outdated pod at a time, from the highest ordinal; waits until it is ready again. */
function updateSteps(
  set: StatefulSet,
  revision: string,
  byOrdinal: ReadonlyMap<number, Pod>,
  nowMs: number,
): readonly SetStep[] {
  if (set.spec.updateStrategy?.type === "OnDelete") return [];
  const { end } = ordinalsOf(set);
  for (let ordinal = end - 1; ordinal >= firstUpdated(set); ordinal--) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) return [];
    if (pod.metadata.labels?.[REVISION_LABEL] !== revision) return removal(pod);
    if (!isUp(set, pod, nowMs)) return [];
  }
  return [];
}

function removal(pod: Pod): readonly SetStep[] {
  return isTerminating(pod) ? [] : [{ do: "remove", pod }];
}

/** The revision for a new pod. Below the partition, a lost pod is created again with the old revision. */
export function revisionFor(set: StatefulSet, newest: string, ordinal: number): string {
  const current = set.status?.["currentRevision"] as string | undefined;
  return ordinal < firstUpdated(set) && current !== undefined ? current : newest;
}

/** The pod with this ordinal, from the template of a revision. */
export function ordinalPod(
  set: StatefulSet,
  ordinal: number,
  { revision, template }: { readonly revision: string; readonly template: PodTemplateSpec },
): Pod {
  const name = podName(set, ordinal);
  const pod = podOf(STATEFUL_SET, set, template, {
    generateName: `${set.metadata.name}-`,
    name,
  });
  const labels = {
    ...pod.metadata.labels,
    [REVISION_LABEL]: revision,
    [NAME_LABEL]: name,
    [INDEX_LABEL]: String(ordinal),
  };
  const volumes = claimVolumes(set, name);
  const names = new Set(volumes.map((volume) => volume.name));
  const others = (pod.spec.volumes ?? []).filter((volume) => !names.has(volume.name));
  const subdomain = set.spec.serviceName;
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      ...pod.spec,
      hostname: name,
      ...(subdomain === undefined || subdomain === "" ? {} : { subdomain }),
      ...(volumes.length === 0 ? {} : { volumes: [...volumes, ...others] }),
    },
  };
}

function claimVolumes(set: StatefulSet, name: string): readonly Volume[] {
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata.name,
    persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
  }));
}

/** The claims that the pod mounts, as the controller creates them if they do not exist. */
export function ordinalClaims(set: StatefulSet, ordinal: number): readonly PersistentVolumeClaim[] {
  const { namespace } = set.metadata;
  return (set.spec.volumeClaimTemplates ?? []).map((template) => {
    const { status: _, ...claim } = template as PersistentVolumeClaim;
    const { annotations } = claim.metadata;
    return {
      ...claim,
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: `${claim.metadata.name}-${podName(set, ordinal)}`,
        ...(namespace === undefined ? {} : { namespace }),
        labels: { ...claim.metadata.labels, ...set.spec.selector.matchLabels },
        ...(annotations === undefined ? {} : { annotations }),
      },
    };
  });
}

/** The status of the StatefulSet for these pods. */
export function setStatus(
  set: StatefulSet,
  revision: string,
  all: readonly Pod[],
  nowMs: number,
): NonNullable<StatefulSet["status"]> {
  // Pods that are being deleted count as replicas, but for no revision.
  const pods = all.filter((pod) => !isTerminating(pod));
  const ofRevision = (name: string): readonly Pod[] =>
    pods.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === name);
  const updated = ofRevision(revision);
  const finished = updated.length === (set.spec.replicas ?? 1) && updated.every(isReady);
  const known = set.status?.["currentRevision"] as string | undefined;
  const current = finished || known === undefined ? revision : known;
  const { minReadySeconds } = set.spec;
  return {
    ...set.status,
    replicas: all.length,
    readyReplicas: all.filter(isReady).length || undefined,
    availableReplicas: all.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    currentReplicas: ofRevision(current).length || undefined,
    updatedReplicas: updated.length || undefined,
    currentRevision: current,
    updateRevision: revision,
    collisionCount: 0,
    observedGeneration: set.metadata.generation,
  } as NonNullable<StatefulSet["status"]>;
}

/** The ordinals of the set, from `first` up to but not including `end`. */
function ordinalsOf(set: StatefulSet): { readonly first: number; readonly end: number } {
  const first = set.spec.ordinals?.start ?? 0;
  return { first, end: first + (set.spec.replicas ?? 1) };
}

function firstUpdated(set: StatefulSet): number {
  const { first } = ordinalsOf(set);
  return first + (set.spec.updateStrategy?.rollingUpdate?.partition ?? 0);
}

function podName(set: StatefulSet, ordinal: number): string {
  return `${set.metadata.name}-${ordinal}`;
}

function ordinalOf(set: StatefulSet, pod: Pod): number {
  return Number(pod.metadata.name.slice(set.metadata.name.length + 1));
}

/** Whether the pod is running, available and not terminating. Only then the next ordinal follows. */
function isUp(set: StatefulSet, pod: Pod | undefined, nowMs: number): boolean {
  return (
    pod !== undefined && isAvailable(pod, set.spec.minReadySeconds, nowMs) && !isTerminating(pod)
  );
}
