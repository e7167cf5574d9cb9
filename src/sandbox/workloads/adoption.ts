/**
 * Adoption: a controller becomes the owner of pods without an owner that match its selector.
 * upstream: kubernetes pkg/controller/controller_ref_manager.go
 */
import { POD, type Pod } from "../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import type { Kind, KubeObject, LabelSelector } from "../../apis/meta.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { type Request, requestFor } from "../../kube/manager/controller.ts";
import type { Mirror } from "../../kube/mirror/mirror.ts";
import { type PartDeps, PODS_BY_OWNER, podMirror } from "../parts.ts";
import { activePods, ownerReference, requestsToOwner } from "./controls.ts";

/** An object that selects pods by labels. */
export interface Selecting extends KubeObject {
  readonly spec: { readonly selector: LabelSelector };
}

/** Adopts matching pods without an owner in the owner's namespace. Pods that have ended stay as they are. */
export async function adopt<T extends Selecting>(
  { kube, mirrors }: PartDeps,
  kind: Kind<T>,
  owner: T,
): Promise<void> {
  const orphans = podMirror(mirrors)
    .byIndex(PODS_BY_OWNER, `${owner.metadata.namespace ?? ""}/`)
    .filter((pod) => matchesLabelSelector(owner.spec.selector, pod.metadata.labels));
  for (const pod of activePods(orphans)) {
    const ownerReferences = [...(pod.metadata.ownerReferences ?? []), ownerReference(kind, owner)];
    await patchObject(kube, POD, pod, { ...pod, metadata: { ...pod.metadata, ownerReferences } });
  }
}

/**
 * Maps a changed pod to the reconcile requests for its owner, or else for all `owners` that could adopt it.
 */
export function requestsToOwnerOrAdopter<T extends Selecting>(
  kindName: string,
  owners: Mirror<T>,
): (pod: Pod) => Request[] {
  const toOwner = requestsToOwner(kindName);
  return (pod) => {
    const owned = toOwner(pod);
    if (owned.length > 0 || (pod.metadata.ownerReferences ?? []).length > 0) return owned;
    return owners
      .list()
      .filter(({ metadata }) => metadata.namespace === pod.metadata.namespace)
      .filter(({ spec }) => matchesLabelSelector(spec.selector, pod.metadata.labels))
      .map((owner) => requestFor(kindName, owner));
  };
}
