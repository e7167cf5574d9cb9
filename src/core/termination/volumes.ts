/**
 * Finds the volume attachments that must be gone before an instance is terminated: those of pods that are drained. Pods
 * that are not drained keep their volumes, for example daemons that tolerate the disruption taint. Waiting for these
 * would never end.
 * upstream: pkg/controllers/node/termination/controller.go
 */
import type { PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { Pod } from "../../apis/core/pod.ts";
import { isDrainable } from "../../apis/core/pod-predicates.ts";
import type { VolumeAttachment } from "../../apis/storage/kinds.ts";

/** The volumes of a node that is drained. */
export interface DetachInput {
  readonly nowMs: number;
  readonly nodeName: string;
  readonly pods: readonly Pod[];
  readonly attachments: readonly VolumeAttachment[];
  readonly claims: readonly PersistentVolumeClaim[];
}

/** The attachments of the node that must still be removed. Empty: the instance may be terminated. */
export function blockingAttachments(input: DetachInput): readonly VolumeAttachment[] {
  const { nodeName, nowMs } = input;
  const attached = input.attachments.filter(({ spec }) => spec.nodeName === nodeName);
  if (attached.length === 0) return [];
  const staying = new Set(
    input.pods.filter((pod) => !isDrainable(pod, nowMs)).flatMap((pod) => volumesOf(pod, input)),
  );
  return attached.filter(({ spec }) => {
    const volume = spec.source.persistentVolumeName;
    return volume !== undefined && !staying.has(volume);
  });
}

function volumesOf(pod: Pod, input: DetachInput): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const name = claimNameOf(pod, volume as PodVolume);
    const claim = input.claims.find(
      ({ metadata }) => metadata.name === name && metadata.namespace === pod.metadata.namespace,
    );
    return claim?.spec.volumeName === undefined ? [] : [claim.spec.volumeName];
  });
}

interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly ephemeral?: unknown;
}

/**
 * The name of the volume's claim. Kubernetes names the claim of a generic ephemeral volume after the pod and the
 * volume.
 */
function claimNameOf(pod: Pod, volume: PodVolume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`;
}
