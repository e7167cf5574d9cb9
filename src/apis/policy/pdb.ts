/**
 * Which PodDisruptionBudgets select a pod, and whether they forbid an eviction now. The API server refuses to evict a
 * pod that several budgets select.
 * upstream: pkg/utils/pdb/pdb.go
 */

import { isTerminating, type Pod } from "../core/pod.ts";
import { hasDoNotDisrupt, isReady, isReschedulable } from "../core/pod-predicates.ts";
import { matchesLabelSelector } from "../core/selectors.ts";
import { keyOf } from "../meta.ts";
import type { PodDisruptionBudget } from "./kinds.ts";

/** Budgets in the pod's namespace that select it, sorted by name. */
export function budgetsOf(
  { metadata: { namespace, labels } }: Pod,
  pdbs: readonly PodDisruptionBudget[],
): readonly PodDisruptionBudget[] {
  if (labels === undefined || !Object.isFrozen(labels)) return selecting(pdbs, namespace, labels);
  let known = byLabels.get(pdbs);
  if (known === undefined) {
    known = new Map();
    byLabels.set(pdbs, known);
  }
  let ofNamespace = known.get(namespace);
  if (ofNamespace === undefined) {
    ofNamespace = new WeakMap();
    known.set(namespace, ofNamespace);
  }
  let budgets = ofNamespace.get(labels);
  if (budgets === undefined) {
    budgets = selecting(pdbs, namespace, labels);
    ofNamespace.set(labels, budgets);
  }
  return budgets;
}

/**
 * Cached results for each list of budgets, by namespace and labels. Lists and labels are immutable, and pods of one
 * template share their labels object.
 */
const byLabels = new WeakMap<
  readonly PodDisruptionBudget[],
  Map<string | undefined, WeakMap<object, readonly PodDisruptionBudget[]>>
>();

function selecting(
  pdbs: readonly PodDisruptionBudget[],
  namespace: string | undefined,
  labels: Readonly<Record<string, string>> | undefined,
): readonly PodDisruptionBudget[] {
  return pdbs
    .filter((pdb) => pdb.metadata.namespace === namespace)
    .filter((pdb) => matchesLabelSelector(pdb.spec.selector, labels))
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** Why the eviction API would refuse to evict the pod. */
export type PdbBlock =
  /** The eviction API does not support several budgets for one pod. */
  | { readonly reason: "multiple"; readonly pdbs: readonly string[] }
  | { readonly reason: "noDisruptionsAllowed"; readonly pdbs: readonly string[] };

/** Why the pod cannot be evicted now, with the budgets as `namespace/name`. Undefined: it can. */
export function pdbBlock(pod: Pod, pdbs: readonly PodDisruptionBudget[]): PdbBlock | undefined {
  const guards = budgetsOf(pod, pdbs);
  if (guards.length > 1) return { reason: "multiple", pdbs: guards.map(keyOf) };
  const guard = guards[0];
  if (guard === undefined || passesUnhealthy(pod, guard)) return undefined;
  // A budget without status allows no eviction, as in the eviction API.
  if ((guard.status?.disruptionsAllowed ?? 0) > 0) return undefined;
  return { reason: "noDisruptionsAllowed", pdbs: [keyOf(guard)] };
}

/** The budgets that limit an eviction of the pod. Some budgets do not apply to unready pods. */
export function holdingBudgets(
  pod: Pod,
  pdbs: readonly PodDisruptionBudget[],
): readonly PodDisruptionBudget[] {
  return budgetsOf(pod, pdbs).filter((pdb) => !passesUnhealthy(pod, pdb));
}

/**
 * Whether the pod will need another node when its own is removed, and may be evicted now. A pod that is already being
 * deleted always counts, whatever its budgets say.
 * upstream: IsCurrentlyReschedulable, which never counts pods with blocking budgets
 */
export function isCurrentlyReschedulable(
  pod: Pod,
  pdbs: readonly PodDisruptionBudget[],
  nowMs: number,
): boolean {
  if (!isReschedulable(pod)) return false;
  return isTerminating(pod) || (!hasDoNotDisrupt(pod, nowMs) && !isFullyBlocked(pod, pdbs));
}

/** Whether the pod can never be evicted: one budget allows no disruption, or several budgets select the pod. */
function isFullyBlocked(pod: Pod, pdbs: readonly PodDisruptionBudget[]): boolean {
  return budgetsOf(pod, pdbs).length > 1 || holdingBudgets(pod, pdbs).some(allowsNothing);
}

function passesUnhealthy(pod: Pod, pdb: PodDisruptionBudget): boolean {
  return pdb.spec.unhealthyPodEvictionPolicy === "AlwaysAllow" && !isReady(pod);
}

function allowsNothing({ spec }: PodDisruptionBudget): boolean {
  const { maxUnavailable, minAvailable } = spec;
  return maxUnavailable === 0 || maxUnavailable === "0%" || minAvailable === "100%";
}
