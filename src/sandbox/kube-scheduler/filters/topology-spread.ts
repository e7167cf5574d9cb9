/**
 * PodTopologySpread: constraints of a pod, hard ones as a filter. What both the filter and the score
 * need (which constraints, which nodes count) stands here too.
 */
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { LabelSelector } from "../../../apis/meta.ts";
import type { NodeInfo } from "../node-info.ts";
import { type PodInfo, withLabelKeys } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { type Filter, SKIP, unresolvable, unschedulable } from "./filter.ts";
import { matchesRequiredNodeAffinity, untoleratedTaint } from "./node.ts";

/** A constraint with DoNotSchedule, its defaults filled in. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** `undefined` matches nothing. */
  readonly selector: LabelSelector | undefined;
  readonly honorAffinity: boolean;
  readonly honorTaints: boolean;
}

/** The pod's own constraints of one strictness. */
export function spreadConstraints(
  pod: PodInfo,
  whenUnsatisfiable: "DoNotSchedule" | "ScheduleAnyway",
): SpreadConstraint[] {
  return (pod.pod.spec.topologySpreadConstraints ?? [])
    .filter((constraint) => constraint.whenUnsatisfiable === whenUnsatisfiable)
    .map((constraint) => ({
      topologyKey: constraint.topologyKey,
      maxSkew: constraint.maxSkew,
      minDomains: constraint.minDomains ?? 1,
      selector: withLabelKeys(
        constraint.labelSelector,
        constraint.matchLabelKeys,
        "In",
        pod.labels,
      ),
      honorAffinity: constraint.nodeAffinityPolicy !== "Ignore",
      honorTaints: constraint.nodeTaintsPolicy === "Honor",
    }));
}

/** Pods each node counts for a constraint. An absent or empty selector counts nothing. */
export function matchingPods(
  constraint: SpreadConstraint,
  pod: PodInfo,
  snapshot: Snapshot,
): ReadonlyMap<string, number> {
  const { selector } = constraint;
  if (selector === undefined || isEmptySelector(selector)) return NONE;
  return snapshot.tallySelector(pod.namespace, selector);
}

const NONE: ReadonlyMap<string, number> = new Map();

/** True for a selector without labels and expressions. */
export function isEmptySelector(selector: LabelSelector): boolean {
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    (selector.matchExpressions ?? []).length === 0
  );
}

/** Whether a node takes part in a constraint, by its two inclusion policies. */
export function isIncluded(constraint: SpreadConstraint, pod: PodInfo, node: NodeInfo): boolean {
  if (constraint.honorAffinity && !matchesRequiredNodeAffinity(pod, node)) return false;
  return !constraint.honorTaints || untoleratedTaint(pod, node) === undefined;
}

/** Only nodes that carry every topology key count for any constraint. */
export function hasAllKeys(
  node: NodeInfo,
  constraints: readonly { readonly topologyKey: string }[],
): boolean {
  return constraints.every(({ topologyKey }) => node.labels[topologyKey] !== undefined);
}

const MISMATCH = unschedulable("node(s) didn't match pod topology spread constraints");
const MISSING_LABEL = unresolvable(
  "node(s) didn't match pod topology spread constraints (missing required label)",
);

/** Constraints with DoNotSchedule. upstream: plugins/podtopologyspread. */
export const podTopologySpread: Filter = {
  name: "PodTopologySpread",
  prepare(pod, snapshot) {
    const constraints = spreadConstraints(pod, "DoNotSchedule");
    if (constraints.length === 0) return SKIP;
    const states = constraints.map((constraint) => domains(constraint, constraints, pod, snapshot));
    return {
      kind: "check",
      check(node) {
        for (const { constraint, counts, smallest, selfMatch } of states) {
          const value = node.labels[constraint.topologyKey];
          if (value === undefined) return MISSING_LABEL;
          const skew = (counts.get(value) ?? 0) + selfMatch - smallest;
          if (skew > constraint.maxSkew) return MISMATCH;
        }
        return undefined;
      },
    };
  },
};

interface Domains {
  readonly constraint: SpreadConstraint;
  readonly counts: ReadonlyMap<string, number>;
  /** Pods in the emptiest domain; 0 while there are fewer domains than `minDomains`. */
  readonly smallest: number;
  readonly selfMatch: 0 | 1;
}

function domains(
  constraint: SpreadConstraint,
  all: readonly SpreadConstraint[],
  pod: PodInfo,
  snapshot: Snapshot,
): Domains {
  const counts = new Map<string, number>();
  const podsByNode = matchingPods(constraint, pod, snapshot);
  for (const node of snapshot.nodes) {
    if (!hasAllKeys(node, all) || !isIncluded(constraint, pod, node)) continue;
    const value = node.labels[constraint.topologyKey] as string;
    counts.set(value, (counts.get(value) ?? 0) + (podsByNode.get(node.name) ?? 0));
  }
  // No domain at all: every skew is hugely negative, as with upstream's MaxInt32.
  let smallest = 0x7fff_ffff;
  for (const count of counts.values()) smallest = Math.min(smallest, count);
  if (counts.size < constraint.minDomains) smallest = 0;
  const { selector } = constraint;
  const self = selector !== undefined && matchesLabelSelector(selector, pod.labels);
  return { constraint, counts, smallest, selfMatch: self ? 1 : 0 };
}
