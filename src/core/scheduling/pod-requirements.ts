/**
 * Reads what a pod requires of its node's labels: the node selector and the required node affinity terms, of which a
 * node must satisfy one. Also the topology keys of its spreads and affinities.
 * upstream: pkg/scheduling/requirements.go
 */
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Pod,
  PodAffinity,
  PodAffinityTerm,
} from "../../apis/core/pod.ts";
import { matchesNodeSelectorTerm } from "../../apis/core/selectors.ts";
import { HOSTNAME_LABEL_KEY, normalizedLabel } from "../../apis/karpenter/labels.ts";
import { oneOf, toRequirement } from "./requirement.ts";
import { Requirements } from "./requirements.ts";

/**
 * The alternative terms of required node affinity, each combined with the nodeSelector. Never empty. An empty term is
 * left out: in kube-scheduler it matches no node, in upstream every node. If all terms are empty, the nodeSelector
 * alone counts.
 */
export function requiredAlternatives(spec: Pod["spec"]): Requirements[] {
  const base = selectorRequirements(spec.nodeSelector);
  const some = requiredTerms(spec).filter(asksForSomething);
  return some.length === 0 ? [base] : some.map((term) => base.and(termRequirements(term)));
}

/** One alternative of a DaemonSet's pod: requirements on labels and on the name of the node. */
export interface DaemonTerm {
  readonly wanted: Requirements;
  readonly fields: readonly NodeSelectorRequirement[];
}

/**
 * The alternatives of a DaemonSet's pod. Empty: all its terms are empty, so no node runs it. Terms may require node
 * names. Upstream ignores these (pkg/scheduling/requirements.go), and expects such a daemon on every node with the
 * labels.
 */
export function daemonTerms(spec: Pod["spec"]): DaemonTerm[] {
  const base = selectorRequirements(spec.nodeSelector);
  const terms = requiredTerms(spec);
  if (terms.length === 0) return [{ wanted: base, fields: [] }];
  return terms
    .map((term) => ({ term, fields: term.matchFields ?? [] }))
    .filter(({ term, fields }) => asksForSomething(term) || fields.length > 0)
    .map(({ term, fields }) => ({ wanted: base.and(termRequirements(term)), fields }));
}

/** Whether the term allows a node of this name. `name` undefined: a new node, whose name no term can require. */
export function isMeantByName({ fields }: DaemonTerm, name: string | undefined): boolean {
  if (fields.length === 0) return true;
  const known = name === undefined ? {} : { "metadata.name": name };
  return matchesNodeSelectorTerm({ matchFields: fields }, undefined, known);
}

/** The required node affinity terms of the pod. A node must satisfy one of them. */
export function requiredTerms({ affinity }: Pod["spec"]): readonly NodeSelectorTerm[] {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms ?? [];
}

/** Whether a term can match any node. Pods whose terms all match no node are refused before planning. */
export function asksForSomething({ matchExpressions = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.length > 0;
}

/**
 * The requirements of a term. Only matchExpressions are read, because pods with matchFields are refused before
 * planning.
 */
export function termRequirements(term: NodeSelectorTerm): Requirements {
  return Requirements.of((term.matchExpressions ?? []).map(toRequirement));
}

/** A node selector as requirements: every label must have the given value. */
function selectorRequirements(
  selector: Readonly<Record<string, string>> | undefined,
): Requirements {
  if (selector === undefined) return Requirements.NONE;
  const entries = Object.entries(selector);
  return Requirements.of(entries.map(([key, value]) => oneOf(key, [value])));
}

/**
 * The topology keys of all spreads and required affinities of these pods. The host name is left out, because a node's
 * host name is never open.
 */
export function topologyKeys(pods: Iterable<Pod>): Set<string> {
  const keys = new Set<string>();
  for (const { spec } of pods) {
    const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
    for (const { topologyKey } of [
      ...(spec.topologySpreadConstraints ?? []),
      ...[podAffinity, podAntiAffinity].flatMap(requiredOf),
    ])
      keys.add(normalizedLabel(topologyKey));
  }
  keys.delete(HOSTNAME_LABEL_KEY);
  return keys;
}

/** The required terms of a pod affinity or anti-affinity. */
export function requiredOf(rules: PodAffinity | undefined): readonly PodAffinityTerm[] {
  return rules?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
}
