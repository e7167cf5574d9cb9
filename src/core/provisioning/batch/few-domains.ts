/**
 * Finds pods that can use only some domains (such as zones) of a topology rule, because of their volumes or a selector.
 * Other pods with the rule may take these domains. Then the batch is planned again with such pods first. Example: three
 * pods must be in different zones, and the first one takes the zone of the third one's volume.
 */
import type { SchedulingResult } from "../result.ts";
import type { PodClass } from "./pod-class.ts";
import type { QueuedPod } from "./queue.ts";

/**
 * Such pods are tried again after each placement of another pod. If that takes more tries than this, the batch is not
 * planned again.
 */
const MOST_TRIES = 5_000;

/**
 * Whether volumes may limit these equal pods to some domains of their topology rules, or a selector to some domains of
 * an anti-affinity. Selectors are not checked for a spread: by default (`nodeAffinityPolicy: Honor`) it counts only
 * domains that the selector allows. With `Ignore` a selector may limit the pods too, and this function misses that.
 */
export function hasFewDomains({ volumeSets, variants: [asWritten] }: PodClass): boolean {
  return (asWritten?.narrowingRules ?? []).some(({ group: { type, key, hosts } }) => {
    if (volumeSets.length > 0) return hosts === undefined;
    return type === "antiAffinity" && asWritten?.strict.has(key) === true;
  });
}

/**
 * Whether topology rules kept out a pod with few domains, and it may help to place such pods first. Large batches are
 * not tried.
 */
export function areFewDomainsTaken(
  queued: readonly QueuedPod[],
  { unschedulable }: Pick<SchedulingResult, "unschedulable">,
): boolean {
  const keptOut = unschedulable.filter(({ pools }) =>
    pools.some(({ rejected }) => rejected.topology !== undefined),
  );
  if (keptOut.length === 0) return false;
  const few = queued.filter(({ podClass }) => hasFewDomains(podClass));
  if (few.length === queued.length || few.length * queued.length > MOST_TRIES) return false;
  const pods = new Set(few.map(({ pod }) => pod));
  return keptOut.some(({ pod }) => pods.has(pod));
}
