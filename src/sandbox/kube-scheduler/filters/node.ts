/**
 * Filters that check one node alone: cordon, name, taints, node affinity, host ports and resources.
 * upstream: kube-scheduler's plugins of the same names
 */

import type { HostPort } from "../../../apis/core/host-ports.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { NodeSelectorTerm } from "../../../apis/core/pod.ts";
import { matchesNodeSelectorTerm } from "../../../apis/core/selectors.ts";
import { tolerates } from "../../../apis/core/tolerations.ts";
import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import { type Filter, type Rejection, SKIP, unresolvable, unschedulable } from "./filter.ts";

const UNSCHEDULABLE_TAINT: Taint = {
  key: "node.kubernetes.io/unschedulable",
  effect: "NoSchedule",
};

/** Refuses cordoned nodes. upstream: plugins/nodeunschedulable. */
export const nodeUnschedulable: Filter = {
  name: "NodeUnschedulable",
  prepare(pod) {
    if (tolerates(pod.pod.spec.tolerations ?? [], UNSCHEDULABLE_TAINT)) return SKIP;
    const out = unresolvable("node(s) were unschedulable");
    return { kind: "check", check: (node) => (node.unschedulable ? out : undefined) };
  },
};

/** Refuses every node but the one that `spec.nodeName` names. upstream: plugins/nodename. */
export const nodeName: Filter = {
  name: "NodeName",
  prepare(pod) {
    const wanted = pod.pod.spec.nodeName;
    if (wanted === undefined || wanted === "") return SKIP;
    const out = unresolvable("node(s) didn't match the requested node name");
    return { kind: "check", check: (node) => (node.name === wanted ? undefined : out) };
  },
};

/**
 * Refuses nodes with a NoSchedule or NoExecute taint that the pod does not tolerate. upstream:
 * plugins/tainttoleration.
 */
export const taintToleration: Filter = {
  name: "TaintToleration",
  prepare(pod) {
    return {
      kind: "check",
      check(node) {
        const taint = untoleratedTaint(pod, node);
        if (taint === undefined) return undefined;
        return unresolvable("node(s) had untolerated taint(s)");
      },
    };
  },
};

/** The first NoSchedule or NoExecute taint of the node that the pod does not tolerate. */
export function untoleratedTaint(pod: PodInfo, node: NodeInfo): Taint | undefined {
  if (node.taints.length === 0) return undefined;
  const tolerations = pod.pod.spec.tolerations ?? [];
  return node.taints.find(
    (taint) => taint.effect !== "PreferNoSchedule" && !tolerates(tolerations, taint),
  );
}

/** Refuses nodes that nodeSelector or required node affinity excludes. upstream: plugins/nodeaffinity. */
export const nodeAffinity: Filter = {
  name: "NodeAffinity",
  prepare(pod) {
    const terms = requiredTerms(pod);
    if (terms === undefined && pod.pod.spec.nodeSelector === undefined) return SKIP;
    const out = unresolvable("node(s) didn't match Pod's node affinity/selector");
    const check = (node: NodeInfo): Rejection | undefined =>
      matchesRequiredNodeAffinity(pod, node) ? undefined : out;
    const onlyNodes = terms === undefined ? undefined : namedNodes(terms);
    if (onlyNodes?.size === 0) return { kind: "reject", message: "pod affinity terms conflict" };
    return { kind: "check", check, ...(onlyNodes === undefined ? {} : { onlyNodes }) };
  },
};

/** Whether the node matches both the nodeSelector and the required node affinity of the pod. */
export function matchesRequiredNodeAffinity(pod: PodInfo, node: NodeInfo): boolean {
  const selector = pod.pod.spec.nodeSelector ?? {};
  for (const key in selector) if (node.labels[key] !== selector[key]) return false;
  const terms = requiredTerms(pod);
  return terms === undefined || matchesAnyTerm(terms, node.labels, node.name);
}

/** True if one term matches. Without terms nothing matches, and an empty term matches nothing. */
export function matchesAnyTerm(
  terms: readonly NodeSelectorTerm[],
  labels: Readonly<Record<string, string>>,
  name: string,
): boolean {
  const fields = { "metadata.name": name };
  return terms.some((term) => !isEmptyTerm(term) && matchesNodeSelectorTerm(term, labels, fields));
}

/** Whether the term is empty. An empty term matches no node. */
export function isEmptyTerm(term: NodeSelectorTerm): boolean {
  return (term.matchExpressions ?? []).length === 0 && (term.matchFields ?? []).length === 0;
}

function requiredTerms(pod: PodInfo): readonly NodeSelectorTerm[] | undefined {
  return pod.pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
    ?.nodeSelectorTerms;
}

/**
 * If every term requires certain values of `metadata.name`, all these names. Otherwise undefined, which means
 * all nodes.
 */
function namedNodes(terms: readonly NodeSelectorTerm[]): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const term of terms) {
    let ofTerm: string[] | undefined;
    for (const { key, operator, values } of term.matchFields ?? []) {
      if (key !== "metadata.name" || operator !== "In") continue;
      const listed = values ?? [];
      ofTerm = ofTerm === undefined ? [...listed] : ofTerm.filter((n) => listed.includes(n));
    }
    if (ofTerm === undefined) return undefined;
    for (const name of ofTerm) names.add(name);
  }
  return terms.length === 0 ? undefined : names;
}

/** Refuses nodes on which a host port of the pod is taken. upstream: plugins/nodeports. */
export const nodePorts: Filter = {
  name: "NodePorts",
  prepare(pod) {
    if (pod.ports.length === 0) return SKIP;
    const out = unschedulable("node(s) didn't have free ports for the requested pod ports");
    return {
      kind: "check",
      check: (node) => {
        for (const wanted of pod.ports) {
          for (const used of node.ports.values()) if (portsConflict(wanted, used)) return out;
        }
        return undefined;
      },
    };
  },
};

function portsConflict(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || a.ip === "0.0.0.0" || b.ip === "0.0.0.0";
}

/** The order of resources in the message. */
const NATIVE_RESOURCES = ["cpu", "memory", "ephemeral-storage"];

/** Compares the requests with the free resources. upstream: plugins/noderesources. */
export const nodeResourcesFit: Filter = {
  name: "NodeResourcesFit",
  prepare(pod) {
    const extended = Object.keys(pod.requests)
      .filter((name) => !NATIVE_RESOURCES.includes(name))
      .sort();
    const names = [...NATIVE_RESOURCES, ...extended].filter(
      (name) => (pod.requests[name] ?? 0) > 0,
    );
    return { kind: "check", check: (node) => missingResources(pod, node, names) };
  },
};

function missingResources(
  pod: PodInfo,
  node: NodeInfo,
  names: readonly string[],
): Rejection | undefined {
  let reasons: string[] | undefined;
  let hopeless = false;
  if (node.pods.size + 1 > (node.allocatable["pods"] ?? 0)) reasons = ["Too many pods"];
  for (const name of names) {
    const wanted = pod.requests[name] as number;
    const allocatable = node.allocatable[name] ?? 0;
    if (wanted <= allocatable - (node.requested[name] ?? 0)) continue;
    reasons = reasons ?? [];
    reasons.push(`Insufficient ${name}`);
    if (wanted > allocatable) hopeless = true;
  }
  return reasons === undefined ? undefined : { reasons, unresolvable: hopeless };
}
