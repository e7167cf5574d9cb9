/**
 * Pods that can use only some domains of a topology rule: by their volumes, or by a selector. Other pods under the same
 * rule may take these domains although they could go elsewhere. If that keeps a pod out, solve.ts plans again with the
 * pods of this file first. Smallest case: three pods that must be in different zones; the volume of the last is in the
 * zone that the first one took.
 */
import type { SchedulingResult } from "../result.ts";
import type { PodClass } from "./pod-class.ts";
import type { QueuedPod } from "./queue.ts";

/** Most tries of such pods in one plan: each is tried again whenever another pod has been placed. */
const MOST_TRIES = 5_000;

/**
 * Whether volumes may leave the class only some domains of its topology rules, or a selector only some domains of an
 * anti-affinity. A spread counts pods with other selectors apart, so selectors do not matter to it.
 */
export function hasFewDomains({ volumeSets, variants: [asWritten] }: PodClass): boolean {
  return (asWritten?.narrowingRules ?? []).some(({ group: { type, key, hosts } }) => {
    if (volumeSets.length > 0) return hosts === undefined;
    return type === "antiAffinity" && asWritten?.strict.has(key) === true;
  });
}

/** Whether topology rules kept out a pod with few domains, and the batch is small enough to place such pods first. */
export function areFewDomainsTaken(
  queued: readonly QueuedPod[],
  { unschedulable }: Pick<SchedulingResult, "unschedulable">,
): boolean {
  const keptOut = unschedulable.filter(({ pools }) =>
    pools.some(({ rejected }) => rejected.topology !== undefined),
  );
  if (keptOut.length === 0) return false;
  const few = queued.filter(({ podClass }) => hasFewDomains(podClass));
  if (few.length * queued.length > MOST_TRIES) return false;
  const pods = new Set(few.map(({ pod }) => pod));
  return keptOut.some(({ pod }) => pods.has(pod));
}
