/**
 * Volumes for the scheduler: which claims a pod uses, and whether they are bound. Objects are read through
 * {@link VolumeObjects}, so that tests can use plain maps.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import type { CSINode, StorageClass } from "../../apis/storage/kinds.ts";
import type { PodInfo } from "./pod-info.ts";

/** Looks up claims, volumes, classes and CSINodes. */
export interface VolumeObjects {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumes(): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  csiNode(name: string): CSINode | undefined;
}

export const SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node";
const BIND_COMPLETED_ANNOTATION = "pv.kubernetes.io/bind-completed";
export const NO_PROVISIONER = "kubernetes.io/no-provisioner";

/** The claims of a pod, in groups by what must be done for them. */
export interface PodVolumes {
  readonly bound: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume | undefined;
  }[];
  /** Claims that are bound only after the scheduler chose a node. */
  readonly delayed: readonly PersistentVolumeClaim[];
}

/** Why a claim is missing. The claim of an ephemeral volume will be created soon. */
function missing({ ephemeralClaims }: PodInfo, name: string): string {
  return ephemeralClaims.has(name)
    ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
    : `persistentvolumeclaim "${name}" not found`;
}

/** The volumes of a pod, or why it cannot be scheduled now. */
export function podVolumes(
  pod: PodInfo,
  objects: VolumeObjects,
): PodVolumes | { readonly message: string } {
  const bound: PodVolumes["bound"][number][] = [];
  const delayed: PersistentVolumeClaim[] = [];
  let immediate = false;
  for (const name of pod.claims) {
    const claim = objects.claim(pod.namespace, name);
    if (claim === undefined) return { message: missing(pod, name) };
    if (claim.metadata.deletionTimestamp !== undefined) {
      return { message: `persistentvolumeclaim "${name}" is being deleted` };
    }
    if (claim.status?.phase === "Lost") {
      const volume = claim.spec.volumeName ?? "";
      return {
        message: `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${volume}"`,
      };
    }
    if (isBound(claim)) {
      bound.push({ claim, volume: objects.volume(claim.spec.volumeName as string) });
    } else if (isDelayed(claim, objects) && (claim.spec.volumeName ?? "") === "") {
      delayed.push(claim);
    } else {
      immediate = true;
    }
  }
  if (immediate) return { message: "pod has unbound immediate PersistentVolumeClaims" };
  return { bound, delayed };
}

/** Whether the claim names a volume and the binder has finished. */
export function isBound(claim: PersistentVolumeClaim): boolean {
  return (
    (claim.spec.volumeName ?? "") !== "" &&
    (claim.metadata.annotations?.[BIND_COMPLETED_ANNOTATION] !== undefined ||
      claim.status?.phase === "Bound")
  );
}

/** Whether the claim's class has the binding mode WaitForFirstConsumer. */
export function isDelayed(claim: PersistentVolumeClaim, objects: VolumeObjects): boolean {
  const name = claim.spec.storageClassName ?? "";
  if (name === "") return false;
  return objects.storageClass(name)?.volumeBindingMode === "WaitForFirstConsumer";
}
