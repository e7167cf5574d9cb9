/**
 * The pods that stand for a CapacityBuffer. They are planned like other pods but never stored, so kube-scheduler does
 * not see them. A pod that needs the room is scheduled there at once.
 * upstream: pkg/controllers/capacitybuffer, pkg/state/virtualpods
 */

import type { PodTemplateSpec } from "../../apis/apps/kinds.ts";
import type { CapacityBuffer } from "../../apis/autoscaling/capacity-buffer.ts";
import type { Pod, PodSpec, PodStatus, Volume } from "../../apis/core/pod.ts";
import {
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION_KEY,
  CAPACITY_BUFFER_NAME_ANNOTATION_KEY,
  CAPACITY_BUFFER_NAMESPACE_ANNOTATION_KEY,
} from "../../apis/karpenter/labels.ts";
import { deepFreeze } from "../../base/json.ts";

/** The API server never gives such a UID, so no stored pod can look like a pod of a buffer. */
const UID_PREFIX = "capacity-buffer:";
/** Below every PriorityClass: any other pod is more important. */
const LOWEST_PRIORITY = -(2 ** 31);

/** Whether the pod only stands for room that a CapacityBuffer keeps free. */
export function isBufferPod({ metadata }: Pod): boolean {
  return isBufferPodUid(metadata.uid);
}

/** Like {@link isBufferPod}, by the pod's UID. */
export function isBufferPodUid(uid: string | undefined): boolean {
  return uid?.startsWith(UID_PREFIX) === true;
}

/** `namespace/name` of the buffer whose pod this is. */
export function bufferKeyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.annotations?.[CAPACITY_BUFFER_NAME_ANNOTATION_KEY]}`;
}

/** What the pods of a buffer are made of. */
export interface BufferPodPlan {
  readonly template: PodTemplateSpec;
  readonly count: number;
  /** Whether the PersistentVolumeClaim of that name, in the buffer's namespace, has a volume already. */
  readonly isBound: (claimName: string) => boolean;
}

/**
 * The pods of a buffer. Volumes of bound PersistentVolumeClaims are kept, because they limit where the pods can run.
 * Other volumes are dropped: nobody provisions them for pods that do not exist.
 */
export function bufferPods(
  buffer: CapacityBuffer,
  { template, count, isBound }: BufferPodPlan,
): readonly Pod[] {
  const { name, namespace = "default", uid, creationTimestamp } = buffer.metadata;
  const spec = deepFreeze(specOf(template.spec, isBound));
  const annotations = Object.freeze({
    [CAPACITY_BUFFER_FAKE_POD_ANNOTATION_KEY]: "true",
    [CAPACITY_BUFFER_NAME_ANNOTATION_KEY]: name,
    [CAPACITY_BUFFER_NAMESPACE_ANNOTATION_KEY]: namespace,
  });
  const labels = template.metadata?.labels;
  const status: PodStatus = deepFreeze({
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
  });
  return Array.from({ length: count }, (_, index) => ({
    metadata: {
      // The colon keeps this name apart from those of stored pods.
      name: `capacity-buffer:${name}:${index + 1}`,
      namespace,
      uid: `${UID_PREFIX}${uid}-${index + 1}`,
      annotations,
      ...(labels === undefined ? {} : { labels }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec,
    status,
  }));
}

function specOf(template: PodSpec, isBound: (claimName: string) => boolean): PodSpec {
  const { nodeName: _, volumes = [], ...rest } = template;
  const kept = volumes.filter((one) => isKept(one, isBound));
  const left = new Set(volumes.filter((one) => !kept.includes(one)).map(({ name }) => name));
  return {
    ...rest,
    priority: LOWEST_PRIORITY,
    containers: rest.containers.map((one) => withoutMounts(one, left)),
    ...(rest.initContainers === undefined
      ? {}
      : { initContainers: rest.initContainers.map((one) => withoutMounts(one, left)) }),
    ...(kept.length === 0 ? {} : { volumes: kept }),
  };
}

function isKept({ persistentVolumeClaim, ephemeral }: Volume, isBound: (name: string) => boolean) {
  if (persistentVolumeClaim !== undefined) return isBound(persistentVolumeClaim.claimName);
  return ephemeral === undefined;
}

function withoutMounts<T extends object>(container: T, left: ReadonlySet<string>): T {
  const { volumeMounts } = container as { volumeMounts?: readonly { name: string }[] };
  if (volumeMounts === undefined || left.size === 0) return container;
  return { ...container, volumeMounts: volumeMounts.filter(({ name }) => !left.has(name)) };
}
