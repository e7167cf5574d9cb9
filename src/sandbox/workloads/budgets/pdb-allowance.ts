/**
 * The status of a PodDisruptionBudget: how many pods are expected, how many are healthy, and how many may be
 * evicted now. A percentage refers to the replicas of the pods' owners.
 * upstream: kubernetes pkg/controller/disruption
 */
import type { Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import type { Condition, KubeObject } from "../../../apis/meta.ts";
import type { PodDisruptionBudget } from "../../../apis/policy/kinds.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { scaledValue } from "../controls.ts";

/** An eviction is forgotten if the pod is not deleted within this time. */
export const DISRUPTED_TIMEOUT_MS = 120_000;

/** Returns the controller of an object, if it exists and its kind has a scale. */
export type OwnerLookup = (object: KubeObject) => KubeObject | undefined;

/** The status of a budget. `selected`: its pods that have not ended. */
export function budgetStatus(
  budget: PodDisruptionBudget,
  selected: readonly Pod[],
  ownerOf: OwnerLookup,
  nowMs: number,
): NonNullable<PodDisruptionBudget["status"]> {
  const disrupted = stillDisrupted(budget, selected, nowMs);
  const expected = expectedOf(budget, selected, ownerOf);
  const currentHealthy = selected.filter(
    (pod) =>
      isReady(pod) &&
      pod.metadata.deletionTimestamp === undefined &&
      disrupted[pod.metadata.name] === undefined,
  ).length;
  const allowed = expected.pods > 0 ? Math.max(0, currentHealthy - expected.desiredHealthy) : 0;
  return {
    ...budget.status,
    disruptionsAllowed: allowed,
    currentHealthy,
    desiredHealthy: expected.desiredHealthy,
    expectedPods: expected.pods,
    observedGeneration: budget.metadata.generation,
    disruptedPods: Object.keys(disrupted).length === 0 ? undefined : disrupted,
    conditions: [allowedCondition(budget, allowed, nowMs)],
  } as NonNullable<PodDisruptionBudget["status"]>;
}

/** How many pods the budget expects, and how many of them must be healthy. */
function expectedOf(
  budget: PodDisruptionBudget,
  selected: readonly Pod[],
  ownerOf: OwnerLookup,
): { readonly pods: number; readonly desiredHealthy: number } {
  const { minAvailable, maxUnavailable } = budget.spec;
  if (maxUnavailable !== undefined) {
    const total = scaleOfOwners(selected, ownerOf);
    const unavailable = scaledValue(maxUnavailable, total, "up");
    return { pods: total, desiredHealthy: Math.max(0, total - unavailable) };
  }
  if (typeof minAvailable === "string" && minAvailable.endsWith("%")) {
    const total = scaleOfOwners(selected, ownerOf);
    return { pods: total, desiredHealthy: scaledValue(minAvailable, total, "up") };
  }
  // With an absolute minAvailable, the expected pods are those that exist.
  const desiredHealthy = scaledValue(minAvailable, 0, "up");
  return { pods: selected.length, desiredHealthy };
}

/** The sum of the replicas of all owners. Pods without a known owner count 0. */
function scaleOfOwners(selected: readonly Pod[], ownerOf: OwnerLookup): number {
  const scales = new Map<string, number>();
  for (const pod of selected) {
    const below = ownerOf(pod);
    const owner = (below && ownerOf(below)) ?? below;
    if (owner?.metadata.uid === undefined) continue;
    const { spec } = owner as { spec?: { replicas?: number; parallelism?: number } };
    scales.set(owner.metadata.uid, spec?.replicas ?? spec?.parallelism ?? 1);
  }
  return [...scales.values()].reduce((sum, scale) => sum + scale, 0);
}

/** Evicted pods that are not deleted yet. */
function stillDisrupted(
  budget: PodDisruptionBudget,
  selected: readonly Pod[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const kept: Record<string, string> = {};
  for (const [name, at] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = selected.find(({ metadata }) => metadata.name === name);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
    if ((fromRfc3339(at) ?? 0) + DISRUPTED_TIMEOUT_MS > nowMs) kept[name] = at;
  }
  return kept;
}

function allowedCondition(
  budget: PodDisruptionBudget,
  allowed: number,
  nowMs: number,
): Condition & { readonly message: string } {
  const known = budget.status?.conditions?.find(({ type }) => type === "DisruptionAllowed");
  const status = allowed > 0 ? "True" : "False";
  return {
    type: "DisruptionAllowed",
    status,
    reason: allowed > 0 ? "SufficientPods" : "InsufficientPods",
    message: "",
    ...(budget.metadata.generation === undefined
      ? {}
      : { observedGeneration: budget.metadata.generation }),
    lastTransitionTime:
      known?.status === status && known.lastTransitionTime !== undefined
        ? known.lastTransitionTime
        : toRfc3339(nowMs),
  };
}
