/**
 * The annotation on a claim that records for which pods it was planned. A process reads it after a restart. It is a
 * JSON object: for each UID, a number of pods. The UID is that of the pods' controlling owner, or of a pod without an
 * owner. Pods of one owner are equal, so their number is enough.
 */

import type { Pod } from "../../apis/core/pod.ts";
import { parseObject } from "../../apis/hub/annotations.ts";
import { PLANNED_PODS_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import { controllerOf, type KubeObject } from "../../apis/meta.ts";

/** The most UIDs in one annotation. They take 11 KiB of the 256 KiB that all annotations of an object may have. */
const MOST_ENTRIES = 256;

/** The UID under which a pod is counted: that of its controlling owner, or its own. Undefined: the pod has neither. */
export function plannedAs(pod: Pod): string | undefined {
  return controllerOf(pod)?.uid ?? pod.metadata.uid;
}

/** The number of these pods, by UID (see {@link plannedAs}). */
export function countPlanned(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const uid = plannedAs(pod);
    if (uid !== undefined) counts.set(uid, (counts.get(uid) ?? 0) + 1);
  }
  return counts;
}

/**
 * The annotation for a claim that is planned for these pods. If there are too many UIDs, those with the most pods are
 * kept.
 */
export function plannedPodsAnnotation(pods: readonly Pod[]): Readonly<Record<string, string>> {
  const entries = [...countPlanned(pods)].sort(
    ([a, many], [b, few]) => few - many || (a < b ? -1 : 1),
  );
  if (entries.length === 0) return {};
  const kept = Object.fromEntries(entries.slice(0, MOST_ENTRIES));
  return { [PLANNED_PODS_ANNOTATION_KEY]: JSON.stringify(kept) };
}

/** Whether the claim says for which pods it was planned. It does not decode the annotation. */
export function isPlanned(claim: KubeObject): boolean {
  return claim.metadata.annotations?.[PLANNED_PODS_ANNOTATION_KEY] !== undefined;
}

const NO_PODS: ReadonlyMap<string, number> = new Map();

/** The pods for which the claim was planned: numbers by UID. Empty: the annotation is absent or invalid. */
export function plannedPodsOn(claim: KubeObject): ReadonlyMap<string, number> {
  if (!isPlanned(claim)) return NO_PODS;
  const entries = Object.entries(parseObject(claim, PLANNED_PODS_ANNOTATION_KEY));
  return new Map(
    entries.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])),
  );
}
