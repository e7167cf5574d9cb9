/**
 * InterPodAffinity: the required affinity and anti-affinity of the pod, and the required anti-affinity of
 * placed pods. Pods are counted by topology value.
 */
import type { PodInfo, Term } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { type Filter, SKIP, unresolvable, unschedulable } from "./filter.ts";

const AFFINITY = unresolvable("node(s) didn't match pod affinity rules");
const ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules");
const EXISTING = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");

/** Number of placed pods on each node that match a term. */
export function podsSeenBy(term: Term, snapshot: Snapshot): ReadonlyMap<string, number> {
  return snapshot.tally(`term ${term.id}`, (other) =>
    term.matches(
      other.labels,
      other.namespace,
      snapshot.surroundings.namespaceLabels(other.namespace),
    ),
  );
}

/**
 * Refuses nodes by the required affinity and anti-affinity of the pod, and by the required anti-affinity of
 * placed pods.
 * upstream: plugins/interpodaffinity.
 */
export const interPodAffinity: Filter = {
  name: "InterPodAffinity",
  prepare(pod, snapshot) {
    const refused = refusedByPlaced(pod, snapshot);
    const anti = pod.antiAffinity.map((term) => ({
      key: term.topologyKey,
      values: valuesOf(podsSeenBy(term, snapshot), term.topologyKey, snapshot),
    }));
    const affinity = attracted(pod, snapshot);
    if (refused.size === 0 && anti.length === 0 && pod.affinity.length === 0) return SKIP;
    return {
      kind: "check",
      check(node) {
        for (const { key, values } of affinity.terms) {
          const value = node.labels[key];
          if (value === undefined) return AFFINITY;
          if (!affinity.first && !values.has(value)) return AFFINITY;
        }
        for (const { key, values } of anti) {
          const value = node.labels[key];
          if (value !== undefined && values.has(value)) return ANTI_AFFINITY;
        }
        for (const [key, values] of refused) {
          const value = node.labels[key];
          if (value !== undefined && values.has(value)) return EXISTING;
        }
        return undefined;
      },
    };
  },
};

interface Attraction {
  readonly terms: readonly { readonly key: string; readonly values: ReadonlySet<string> }[];
  /**
   * Whether the pod may be the first of its group: no pod matches its affinity terms yet, and it matches them itself.
   */
  readonly first: boolean;
}

/** Counts for the pod's affinity. Only placed pods that match all terms count. */
function attracted(pod: PodInfo, snapshot: Snapshot): Attraction {
  const { affinity } = pod;
  if (affinity.length === 0) return { terms: [], first: false };
  const namespaceLabels = snapshot.surroundings.namespaceLabels;
  const matchesAll = (other: PodInfo): boolean =>
    affinity.every((term) =>
      term.matches(other.labels, other.namespace, namespaceLabels(other.namespace)),
    );
  const seen = snapshot.tally(`all ${affinity.map(({ id }) => id).join(" ")}`, matchesAll);
  const terms = affinity.map(({ topologyKey }) => ({
    key: topologyKey,
    values: valuesOf(seen, topologyKey, snapshot),
  }));
  const none = terms.every(({ values }) => values.size === 0);
  return { terms, first: none && matchesAll(pod) };
}

/** Topology values, by key, that the anti-affinity of placed pods forbids to this pod. */
function refusedByPlaced(pod: PodInfo, snapshot: Snapshot): Map<string, Set<string>> {
  const refused = new Map<string, Set<string>>();
  const namespaceLabels = snapshot.surroundings.namespaceLabels(pod.namespace);
  for (const { term, weightByNode } of snapshot.placedAntiAffinity.values()) {
    if (!term.matches(pod.labels, pod.namespace, namespaceLabels)) continue;
    const values = refused.get(term.topologyKey) ?? new Set();
    for (const value of valuesOf(weightByNode, term.topologyKey, snapshot)) values.add(value);
    if (values.size > 0) refused.set(term.topologyKey, values);
  }
  return refused;
}

function valuesOf(
  byNode: ReadonlyMap<string, number>,
  key: string,
  snapshot: Snapshot,
): ReadonlySet<string> {
  const values = new Set<string>();
  for (const name of byNode.keys()) {
    const value = snapshot.node(name)?.labels[key];
    if (value !== undefined) values.add(value);
  }
  return values;
}
