/**
 * PodTopologySpread. This file has the filter for hard constraints, and what the filter and the score share:
 * which constraints a pod has, its own or those of its scheduler profile, and which nodes count.
 */
import type { TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { LabelSelector } from "../../../apis/meta.ts";
import type { NodeInfo } from "../node-info.ts";
import { type PodInfo, withLabelKeys } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { type Filter, SKIP, unresolvable, unschedulable } from "./filter.ts";
import { matchesRequiredNodeAffinity, untoleratedTaint } from "./node.ts";

/** A constraint with all defaults. */
export interface SpreadConstraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** The selector of the pods that count. Undefined matches no pod. */
  readonly selector: LabelSelector | undefined;
  readonly honorAffinity: boolean;
  readonly honorTaints: boolean;
}

/** The constraints of a pod. */
export interface PodSpread {
  readonly constraints: readonly SpreadConstraint[];
  /** Whether nodes without one of the topology labels get no score. */
  readonly needsAllKeys: boolean;
}

/**
 * The constraints of the pod with this `whenUnsatisfiable`. A pod without constraints of its own gets those of its
 * profile, if the Services that select it and its owner give a selector.
 */
export function podSpread(
  pod: PodInfo,
  whenUnsatisfiable: "DoNotSchedule" | "ScheduleAnyway",
  snapshot: Snapshot,
): PodSpread {
  const own = pod.pod.spec.topologySpreadConstraints ?? [];
  if (own.length > 0)
    return { constraints: withDefaults(own, whenUnsatisfiable, pod), needsAllKeys: true };
  const { profile } = snapshot.surroundings;
  const { constraints = [], isSystem = true } =
    profile(pod.pod.spec.schedulerName)?.defaultSpread ?? {};
  const needsAllKeys = !isSystem;
  if (constraints.every((one) => one.whenUnsatisfiable !== whenUnsatisfiable))
    return { constraints: [], needsAllKeys };
  const labelSelector = defaultSelector(pod, snapshot);
  if (isEmptySelector(labelSelector)) return { constraints: [], needsAllKeys };
  const selecting = constraints.map((one) => ({ ...one, labelSelector }));
  return { constraints: withDefaults(selecting, whenUnsatisfiable, pod), needsAllKeys };
}

/** The selectors of the pod's owner, and of all Services that select the pod, joined into one selector. */
function defaultSelector(pod: PodInfo, snapshot: Snapshot): LabelSelector {
  const matchLabels: Record<string, string> = {};
  for (const service of snapshot.surroundings.services(pod.namespace)) {
    const wanted = Object.entries(service.spec?.selector ?? {});
    if (wanted.length === 0 || !wanted.every(([k, v]) => pod.labels[k] === v)) continue;
    Object.assign(matchLabels, Object.fromEntries(wanted));
  }
  const owner = snapshot.surroundings.ownerSelector(pod.pod);
  return {
    matchLabels: { ...matchLabels, ...owner?.matchLabels },
    matchExpressions: owner?.matchExpressions ?? [],
  };
}

function withDefaults(
  constraints: readonly TopologySpreadConstraint[],
  whenUnsatisfiable: "DoNotSchedule" | "ScheduleAnyway",
  pod: PodInfo,
): readonly SpreadConstraint[] {
  return constraints
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

/** Number of matching pods on each node. A missing or empty selector matches none. */
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
function isEmptySelector(selector: LabelSelector): boolean {
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    (selector.matchExpressions ?? []).length === 0
  );
}

/** Whether a node counts for a constraint, by the constraint's two inclusion policies. */
export function isIncluded(constraint: SpreadConstraint, pod: PodInfo, node: NodeInfo): boolean {
  if (constraint.honorAffinity && !matchesRequiredNodeAffinity(pod, node)) return false;
  return !constraint.honorTaints || untoleratedTaint(pod, node) === undefined;
}

/** Whether the node has every topology key. Other nodes count for no constraint. */
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

/** Refuses nodes that would break a constraint with DoNotSchedule. upstream: plugins/podtopologyspread. */
export const podTopologySpread: Filter = {
  name: "PodTopologySpread",
  prepare(pod, snapshot) {
    const { constraints } = podSpread(pod, "DoNotSchedule", snapshot);
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
  /** Number of pods in the domain with the fewest; 0 if there are fewer domains than `minDomains`. */
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
  // Without any domain the minimum stays at its start value, as upstream (MaxInt32), so no constraint fails.
  let smallest = 0x7fff_ffff;
  for (const count of counts.values()) smallest = Math.min(smallest, count);
  if (counts.size < constraint.minDomains) smallest = 0;
  const { selector } = constraint;
  const self = selector !== undefined && matchesLabelSelector(selector, pod.labels);
  return { constraint, counts, smallest, selfMatch: self ? 1 : 0 };
}
