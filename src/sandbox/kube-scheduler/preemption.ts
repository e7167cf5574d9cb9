/**
 * Preemption: if a pod fits nowhere, finds the node where it would fit without pods of lower priority, and the
 * victims among them. scheduler.ts deletes the victims. As in kube-scheduler's DefaultPreemption there are as few
 * victims as possible. Victims that a PodDisruptionBudget protects are avoided. Then the node with the least loss is
 * chosen.
 */
import { matchesLabelSelector } from "../../apis/core/selectors.ts";
import type { PodDisruptionBudget } from "../../apis/policy/kinds.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { claimReferences } from "./devices/pod-claims.ts";
import { type Feasible, rejectionBeside } from "./feasible.ts";
import {
  NO_CLAIMS,
  NO_PREEMPTION_HELPS,
  NO_VICTIMS,
  refusalOf,
  STILL_NO_CLAIMS,
} from "./message.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Snapshot } from "./snapshot.ts";

/** Maximum number of candidates that are compared. */
const MAX_CANDIDATES = 100;
/** The reason of the condition DisruptionTarget on a preempted pod. */
export const PREEMPTED_REASON = "PreemptionByScheduler";

/** A node where the pod fits after these victims are gone. */
export interface Candidate {
  readonly node: string;
  /** The pods to delete, the most important first. */
  readonly victims: readonly PodInfo[];
  /** The number of victims whose PodDisruptionBudget does not allow their deletion. */
  readonly violations: number;
}

/** Whether preemption helps. upstream: pkg/scheduler/framework/preemption. */
export type Preemption =
  | { readonly kind: "preempt"; readonly candidate: Candidate }
  /** `message`: the end of the message on the pod. `waits`: victims of an earlier preemption are still ending. */
  | { readonly kind: "none"; readonly message: string; readonly waits?: true };

/**
 * Whether and where preemption makes room for the pod. `result`: the result of {@link feasibleNodes}, without a node.
 * The snapshot is unchanged afterwards.
 */
export function findPreemption(pod: PodInfo, result: Feasible, snapshot: Snapshot): Preemption {
  if (result.message !== undefined) return { kind: "none", message: "not found" };
  const ineligible = whyIneligible(pod, result, snapshot);
  if (ineligible !== undefined) return ineligible;
  const reasons: string[] = [];
  const candidates: Candidate[] = [];
  for (const node of snapshot.nodes) {
    if (result.rejections.get(node.name)?.unresolvable !== false) {
      reasons.push(NO_PREEMPTION_HELPS);
      continue;
    }
    if (candidates.length >= MAX_CANDIDATES) break;
    const found = victimsOn(pod, node, { snapshot, nominated: result.nominated ?? [] });
    if (Array.isArray(found)) reasons.push(...found);
    else candidates.push(found as Candidate);
  }
  const [candidate] = bestCandidates(candidates);
  if (candidate !== undefined) return { kind: "preempt", candidate };
  const message = `${claimsWord(pod)}, preemption: ${refusalOf(snapshot.nodes.length, reasons)}`;
  return { kind: "none", message };
}

function claimsWord({ pod }: PodInfo): string {
  return claimReferences(pod).length === 0 ? NO_CLAIMS : STILL_NO_CLAIMS;
}

function whyIneligible(
  { pod, priority }: PodInfo,
  { rejections }: Feasible,
  snapshot: Snapshot,
): Preemption | undefined {
  if (pod.spec.preemptionPolicy === "Never") {
    const message = `${NO_CLAIMS}, preemption: not eligible due to preemptionPolicy=Never.`;
    return { kind: "none", message };
  }
  const nominated = pod.status?.nominatedNodeName ?? "";
  if (nominated === "" || rejections.get(nominated)?.unresolvable === true) return undefined;
  for (const other of snapshot.node(nominated)?.pods.values() ?? []) {
    if (other.priority >= priority || !isLeaving(other)) continue;
    const message = `${NO_CLAIMS}, preemption: not eligible due to terminating pod on the nominated node.`;
    return { kind: "none", message, waits: true };
  }
  return undefined;
}

function isLeaving({ pod, terminating }: PodInfo): boolean {
  return (
    terminating &&
    pod.status?.conditions?.some(({ reason }) => reason === PREEMPTED_REASON) === true
  );
}

/** The pods to preempt on the node, or the reasons why the pod would not fit even then. */
function victimsOn(
  pod: PodInfo,
  node: NodeInfo,
  around: { readonly snapshot: Snapshot; readonly nominated: NonNullable<Feasible["nominated"]> },
): Candidate | readonly string[] {
  const { snapshot } = around;
  const lesser = [...node.pods.values()].filter(({ priority }) => priority < pod.priority);
  if (lesser.length === 0) return [NO_VICTIMS];
  lesser.sort(byImportance);
  for (const { key } of lesser) snapshot.removePod(key);
  try {
    const rejection = rejectionBeside(pod, node, around);
    if (rejection !== undefined) return rejection.reasons;
    const guarded = guardedPods(lesser, snapshot);
    const stays = (one: PodInfo): boolean => {
      snapshot.setPod(one, node.name);
      if (rejectionBeside(pod, node, around) === undefined) return true;
      snapshot.removePod(one.key);
      return false;
    };
    const [first, later] = [true, false].map((isGuarded) =>
      lesser.filter((one) => guarded.has(one.key) === isGuarded && !stays(one)),
    ) as [PodInfo[], PodInfo[]];
    const victims = [...first, ...later].sort(byImportance);
    // A nomination without a victim could make two pods wait forever for the same room.
    if (victims.length === 0) return [`expected at least one victim pod on node "${node.name}"`];
    return { node: node.name, victims, violations: first.length };
  } finally {
    for (const one of lesser) {
      if (snapshot.nodeOf(one.key) === undefined) snapshot.setPod(one, node.name);
    }
  }
}

/** Keys of the pods whose deletion, in this order, is more than their PodDisruptionBudget allows. */
function guardedPods(pods: readonly PodInfo[], snapshot: Snapshot): ReadonlySet<string> {
  const left = new Map<PodDisruptionBudget, number>();
  const guarded = new Set<string>();
  for (const { key, namespace, labels, pod } of pods) {
    for (const budget of snapshot.surroundings.budgets(namespace)) {
      const { selector } = budget.spec;
      if (selector === undefined || !matchesLabelSelector(selector, labels)) continue;
      if (budget.status?.disruptedPods?.[pod.metadata.name] !== undefined) continue;
      const remaining = (left.get(budget) ?? budget.status?.disruptionsAllowed ?? 0) - 1;
      left.set(budget, remaining);
      if (remaining < 0) guarded.add(key);
    }
  }
  return guarded;
}

/**
 * Functions from most to least important. The candidate with the smallest value of the first function is best; the next
 * one decides among equal candidates.
 */
const LOSSES: readonly ((candidate: Candidate) => number)[] = [
  ({ violations }) => violations,
  ({ victims }) => victims[0]?.priority ?? Number.NEGATIVE_INFINITY,
  // Priorities may be negative. The offset makes each one positive, so that more victims are a larger loss.
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
  ({ victims }) => victims.length,
  // The node whose most important victims have run for the shortest time.
  ({ victims }) =>
    -Math.min(
      ...victims
        .filter(({ priority }) => priority === victims[0]?.priority)
        .map((victim) => startMs(victim)),
    ),
];

/** The candidates with the least loss. The real scheduler picks any of them; this one picks the first by name. */
function bestCandidates(candidates: readonly Candidate[]): readonly Candidate[] {
  let best = candidates;
  for (const loss of LOSSES) {
    const least = Math.min(...best.map(loss));
    best = best.filter((candidate) => loss(candidate) === least);
  }
  return best;
}

/** Orders pods by importance: higher priority first, then the longer running. */
function byImportance(a: PodInfo, b: PodInfo): number {
  return b.priority - a.priority || startMs(a) - startMs(b) || (a.key < b.key ? -1 : 1);
}

/** When the pod started. A pod that has not started counts as started last. */
function startMs({ pod }: PodInfo): number {
  return fromRfc3339(pod.status?.startTime) ?? Number.MAX_SAFE_INTEGER;
}
