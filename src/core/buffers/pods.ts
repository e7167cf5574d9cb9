/**
 * The placeholder pods of a CapacityBuffer. They are planned like other pods but never stored in the API server, so
 * kube-scheduler does not see them. A stored pod that needs their room is scheduled there immediately.
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

/**
 * The prefix of a placeholder's UID. The API server never creates such a UID, so no stored pod looks like a
 * placeholder.
 */
const UID_PREFIX = "capacity-buffer:";
/** The lowest value that a PriorityClass can have, so no stored pod has a lower priority. */
const LOWEST_PRIORITY = -(2 ** 31);

/** Whether the pod is a placeholder of a CapacityBuffer. */
export function isBufferPod({ metadata }: Pod): boolean {
  return isBufferPodUid(metadata.uid);
}

/** Like {@link isBufferPod}, by the pod's UID. */
export function isBufferPodUid(uid: string | undefined): boolean {
  return uid?.startsWith(UID_PREFIX) === true;
}

/** The key `namespace/name` of the buffer to which this placeholder belongs. */
export function bufferKeyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.annotations?.[CAPACITY_BUFFER_NAME_ANNOTATION_KEY]}`;
}

/** The facts from which the placeholder pods of a buffer are made. */
export interface BufferPodPlan {
  readonly template: PodTemplateSpec;
  readonly count: number;
  /** Whether the PersistentVolumeClaim of this name, in the buffer's namespace, is bound to a volume. */
  readonly isBound: (claimName: string) => boolean;
}

/**
 * The placeholder pods of a buffer. Bound PersistentVolumeClaims are kept, because their volumes limit where pods can
 * run. Other volumes are dropped: they would never be provisioned for placeholders.
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
      // The name contains a colon, so no stored pod can have it.
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
