/**
 * Scores nodes on which a pod fits, with kube-scheduler's default plugins and weights. Each plugin gives a
 * node 0 to 100; integer arithmetic rounds down where kube-scheduler does. Image locality is always 0,
 * because simulated nodes list no images.
 */
import { matchesNodeSelectorTerm } from "../../apis/core/selectors.ts";
import { tolerates } from "../../apis/core/tolerations.ts";
import { podsSeenBy } from "./filters/inter-pod-affinity.ts";
import { isEmptyTerm } from "./filters/node.ts";
import {
  hasAllKeys,
  isIncluded,
  matchingPods,
  podSpread,
  type SpreadConstraint,
} from "./filters/topology-spread.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo, Term } from "./pod-info.ts";
import type { Snapshot } from "./snapshot.ts";

const MAX_SCORE = 100;
const HOSTNAME = "kubernetes.io/hostname";

/** The scores of one plugin, in the order of `nodes`. Undefined if it does not apply. */
type Score = (
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
) => readonly number[] | undefined;

const PLUGINS: readonly {
  readonly name: string;
  readonly weight: number;
  readonly score: Score;
}[] = [
  { name: "TaintToleration", weight: 3, score: taintToleration },
  { name: "NodeAffinity", weight: 2, score: nodeAffinity },
  { name: "PodTopologySpread", weight: 2, score: podTopologySpread },
  { name: "InterPodAffinity", weight: 2, score: interPodAffinity },
  { name: "NodeResourcesFit", weight: 1, score: leastAllocated },
  { name: "NodeResourcesBalancedAllocation", weight: 1, score: balancedAllocation },
];

/** Sums of all weighted scores, in the order of `nodes`. Exported for tests. */
export function scoreNodes(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
): readonly number[] {
  const totals = nodes.map(() => 0);
  for (const { weight, score } of PLUGINS) {
    const scores = score(pod, nodes, snapshot);
    if (scores === undefined) continue;
    for (let i = 0; i < totals.length; i++) {
      totals[i] = (totals[i] as number) + weight * (scores[i] as number);
    }
  }
  return totals;
}

/** The node with the best score. Among equal scores, the first by name; kube-scheduler picks a random one. */
export function bestNode(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
): NodeInfo | undefined {
  if (nodes.length <= 1) return nodes[0];
  const totals = scoreNodes(pod, nodes, snapshot);
  let best = 0;
  for (let i = 1; i < totals.length; i++) {
    if ((totals[i] as number) > (totals[best] as number)) best = i;
  }
  return nodes[best];
}

function taintToleration(pod: PodInfo, nodes: readonly NodeInfo[]): readonly number[] {
  const tolerations = (pod.pod.spec.tolerations ?? []).filter(
    ({ effect }) => effect === undefined || effect === "PreferNoSchedule",
  );
  const intolerable = nodes.map(
    (node) =>
      node.taints.filter((t) => t.effect === "PreferNoSchedule" && !tolerates(tolerations, t))
        .length,
  );
  return normalize(intolerable, true);
}

function nodeAffinity(pod: PodInfo, nodes: readonly NodeInfo[]): readonly number[] | undefined {
  const preferred = (
    pod.pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  ).filter(({ weight, preference }) => weight !== 0 && !isEmptyTerm(preference));
  if (preferred.length === 0) return undefined;
  const sums = nodes.map((node) => {
    let sum = 0;
    for (const { weight, preference } of preferred) {
      const fields = { "metadata.name": node.name };
      if (matchesNodeSelectorTerm(preference, node.labels, fields)) sum += weight;
    }
    return sum;
  });
  return normalize(sums, false);
}

function normalize(values: readonly number[], reverse: boolean): readonly number[] {
  const max = Math.max(0, ...values);
  return values.map((value) => {
    const scaled = max === 0 ? 0 : Math.floor((MAX_SCORE * value) / max);
    return reverse ? MAX_SCORE - scaled : scaled;
  });
}

function podTopologySpread(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
): readonly number[] | undefined {
  const { constraints, needsAllKeys } = podSpread(pod, "ScheduleAnyway", snapshot);
  if (constraints.length === 0) return undefined;
  const ignored = nodes.map((node) => needsAllKeys && !hasAllKeys(node, constraints));
  const counts = constraints.map((constraint) =>
    softCounts(constraint, constraints, { pod, nodes, snapshot, ignored, needsAllKeys }),
  );
  const raw = nodes.map((node, index) => {
    if (ignored[index]) return 0;
    let score = 0;
    constraints.forEach((constraint, i) => {
      const value = node.labels[constraint.topologyKey];
      if (value === undefined) return;
      const { podsOf, weight } = counts[i] as SoftCounts;
      score += podsOf(node, value) * weight + (constraint.maxSkew - 1);
    });
    return Math.round(score);
  });
  return invert(raw, ignored);
}

function invert(raw: readonly number[], ignored: readonly boolean[]): readonly number[] {
  const valid = raw.filter((_, index) => !ignored[index]);
  const min = Math.min(...valid);
  const max = Math.max(...valid);
  return raw.map((score, index) => {
    if (ignored[index]) return 0;
    return max === 0 ? MAX_SCORE : Math.floor((MAX_SCORE * (max + min - score)) / max);
  });
}

interface SoftCounts {
  podsOf(node: NodeInfo, value: string): number;
  readonly weight: number;
}

/** The number of pods by domain for one soft constraint, and a weight by the number of domains. */
function softCounts(
  constraint: SpreadConstraint,
  all: readonly SpreadConstraint[],
  context: {
    readonly pod: PodInfo;
    readonly nodes: readonly NodeInfo[];
    readonly snapshot: Snapshot;
    readonly ignored: readonly boolean[];
    readonly needsAllKeys: boolean;
  },
): SoftCounts {
  const { pod, nodes, snapshot, ignored, needsAllKeys } = context;
  const podsByNode = matchingPods(constraint, pod, snapshot);
  if (constraint.topologyKey === HOSTNAME) {
    const size = ignored.filter((isIgnored) => !isIgnored).length;
    return { podsOf: (node) => podsByNode.get(node.name) ?? 0, weight: Math.log(size + 2) };
  }
  const counts = new Map<string, number>();
  nodes.forEach((node, index) => {
    // By default nodes without the label also count, and form one domain.
    if (!ignored[index]) counts.set(node.labels[constraint.topologyKey] ?? "", 0);
  });
  // Only nodes with matching pods add to the counts.
  for (const [name, pods] of podsByNode) {
    const node = snapshot.node(name);
    if (node?.node === undefined) continue;
    if (needsAllKeys && !hasAllKeys(node, all)) continue;
    const value = node.labels[constraint.topologyKey];
    if (value === undefined || !counts.has(value) || !isIncluded(constraint, pod, node)) continue;
    counts.set(value, (counts.get(value) as number) + pods);
  }
  return { podsOf: (_, value) => counts.get(value) ?? 0, weight: Math.log(counts.size + 2) };
}

function interPodAffinity(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
): readonly number[] | undefined {
  const byKey = new Map<string, Map<string, number>>();
  const add = (term: Term, byNode: ReadonlyMap<string, number>, weight: number): void => {
    for (const [name, count] of byNode) {
      const value = snapshot.node(name)?.labels[term.topologyKey];
      if (value === undefined) continue;
      const values = byKey.get(term.topologyKey) ?? new Map<string, number>();
      values.set(value, (values.get(value) ?? 0) + weight * count);
      byKey.set(term.topologyKey, values);
    }
  };
  for (const { term, weight } of pod.preferredAffinity) {
    add(term, podsSeenBy(term, snapshot), weight);
  }
  for (const { term, weight } of pod.preferredAntiAffinity) {
    add(term, podsSeenBy(term, snapshot), -weight);
  }
  const labels = snapshot.surroundings.namespaceLabels(pod.namespace);
  for (const { term, weightByNode } of snapshot.placedPreferences.values()) {
    if (term.matches(pod.labels, pod.namespace, labels)) add(term, weightByNode, 1);
  }
  if (byKey.size === 0) return undefined;
  const sums = nodes.map((node) => {
    let sum = 0;
    for (const [key, values] of byKey) sum += values.get(node.labels[key] ?? "\0") ?? 0;
    return sum;
  });
  const min = Math.min(...sums);
  const max = Math.max(...sums);
  if (max === min) return sums.map(() => 0);
  return sums.map((sum) => Math.floor((MAX_SCORE * (sum - min)) / (max - min)));
}

function leastAllocated(pod: PodInfo, nodes: readonly NodeInfo[]): readonly number[] {
  return nodes.map((node) => {
    const parts: number[] = [];
    const add = (requested: number, capacity: number): void => {
      if (capacity === 0) return;
      parts.push(
        requested > capacity ? 0 : Math.floor(((capacity - requested) * MAX_SCORE) / capacity),
      );
    };
    add(node.nonZeroMilliCpu + pod.scored.milliCpu, node.allocatable["cpu"] ?? 0);
    add(node.nonZeroMemoryBytes + pod.scored.memoryBytes, node.allocatable["memory"] ?? 0);
    if (parts.length === 0) return 0;
    return Math.floor(parts.reduce((sum, part) => sum + part, 0) / parts.length);
  });
}

function balancedAllocation(
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): readonly number[] | undefined {
  // A pod without requests changes no balance.
  if (Object.values(pod.requests).every((amount) => amount === 0)) return undefined;
  return nodes.map((node) => {
    const fractions: number[] = [];
    for (const name of ["cpu", "memory"]) {
      const capacity = node.allocatable[name] ?? 0;
      if (capacity === 0) continue;
      const used = (node.requested[name] ?? 0) + (pod.requests[name] ?? 0);
      fractions.push(Math.min(1, used / capacity));
    }
    const [first, second] = fractions;
    const deviation =
      first === undefined || second === undefined ? 0 : Math.abs(first - second) / 2;
    return Math.floor((1 - deviation) * MAX_SCORE);
  });
}
