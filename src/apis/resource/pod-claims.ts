/** The resource claims that a pod names. */
import type { Pod } from "../core/pod.ts";

/** One entry of `spec.resourceClaims`. */
export interface PodClaimEntry {
  readonly name: string;
  /** The claim. Null: nothing is to be allocated. Undefined: it is not generated yet. */
  readonly claimName: string | null | undefined;
  /** The template of which the claim is, or will be, generated. */
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

/** In the pod's order. */
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
