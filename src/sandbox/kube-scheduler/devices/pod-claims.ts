/**
 * The ResourceClaims of a pod: those that its spec names, and those created for it from templates.
 * upstream: dynamic-resource-allocation/resourceclaim
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { controllerOf } from "../../../apis/meta.ts";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "../../../apis/resource/kinds.ts";

/** Looks up claims, slices and device classes. */
export interface DeviceObjects {
  claim(namespace: string, name: string): ResourceClaim | undefined;
  claims(): readonly ResourceClaim[];
  slices(): readonly ResourceSlice[];
  deviceClass(name: string): DeviceClass | undefined;
}

/** An entry of `spec.resourceClaims` of a pod. */
export interface PodClaimReference {
  readonly name: string;
  readonly resourceClaimName?: string;
  readonly resourceClaimTemplateName?: string;
}

/** An entry of `status.resourceClaimStatuses`. Without a claim name, no claim was needed. */
export interface PodClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string;
}

/** The entries of `spec.resourceClaims`. */
export function claimReferences(pod: Pod): readonly PodClaimReference[] {
  return (pod.spec as { resourceClaims?: readonly PodClaimReference[] }).resourceClaims ?? [];
}

/** The entries of `status.resourceClaimStatuses`. */
export function claimStatuses(pod: Pod): readonly PodClaimStatus[] {
  const { status } = pod as { status?: { resourceClaimStatuses?: readonly PodClaimStatus[] } };
  return status?.resourceClaimStatuses ?? [];
}

/** The pod's claims in the order of its spec, or why they cannot be used. */
export function podClaims(
  pod: Pod,
  objects: DeviceObjects,
): { readonly claims: readonly ResourceClaim[] } | { readonly message: string } {
  const { name: podName, namespace = "" } = pod.metadata;
  const claims: ResourceClaim[] = [];
  for (const reference of claimReferences(pod)) {
    const made = claimStatuses(pod).find(({ name }) => name === reference.name);
    const isMade = reference.resourceClaimName === undefined;
    if (isMade && made === undefined)
      return { message: `pod "${namespace}/${podName}": ResourceClaim not created yet` };
    const name = reference.resourceClaimName ?? made?.resourceClaimName;
    if (name === undefined) continue;
    const claim = objects.claim(namespace, name);
    if (claim === undefined)
      return { message: `could not find ResourceClaim "${namespace}/${name}"` };
    if (claim.metadata.deletionTimestamp !== undefined)
      return { message: `resourceclaim "${name}" is being deleted` };
    if (isMade && controllerOf(claim)?.uid !== pod.metadata.uid) {
      const owner = `pod ${namespace}/${podName} (pod is not owner)`;
      return { message: `ResourceClaim ${namespace}/${name} was not created for ${owner}` };
    }
    claims.push(claim);
  }
  return { claims };
}
