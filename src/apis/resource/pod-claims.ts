/** The ResourceClaims that a pod references. */
import type { Pod } from "../core/pod.ts";

/** One entry of a pod's `spec.resourceClaims`. */
export interface PodClaimEntry {
  readonly name: string;
  /** Name of the claim. Null: no claim is needed. Undefined: it does not exist yet. */
  readonly claimName: string | null | undefined;
  /** Name of the template from which the claim is created. Undefined: the pod names the claim itself. */
  readonly templateName: string | undefined;
}

interface WireEntry {
  readonly name: string;
  readonly resourceClaimName?: string;
  readonly resourceClaimTemplateName?: string;
}

interface WireStatus {
  readonly name: string;
  readonly resourceClaimName?: string;
}

/** Whether the pod has resource claims. */
export function hasResourceClaims(pod: Pod): boolean {
  const claims = pod.spec["resourceClaims"];
  return Array.isArray(claims) && claims.length > 0;
}

/** The entries in the order of the pod's spec. */
export function podClaimEntries(pod: Pod): readonly PodClaimEntry[] {
  const entries = (pod.spec["resourceClaims"] ?? []) as readonly WireEntry[];
  const statuses = (pod.status?.["resourceClaimStatuses"] ?? []) as readonly WireStatus[];
  return entries.map(({ name, resourceClaimName, resourceClaimTemplateName: templateName }) => {
    if (resourceClaimName !== undefined)
      return { name, claimName: resourceClaimName, templateName: undefined };
    const status = statuses.find((one) => one.name === name);
    const claimName = status === undefined ? undefined : (status.resourceClaimName ?? null);
    return { name, claimName, templateName };
  });
}
