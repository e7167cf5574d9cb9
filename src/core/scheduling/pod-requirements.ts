/**
 * What a pod requires of its node's labels. Only the first required term and the heaviest preferred term count.
 * Dropping preferences makes the next term count.
 * upstream: pkg/scheduling/requirements.go
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from "../../apis/core/pod.ts";
import { matchesNodeSelectorTerm } from "../../apis/core/selectors.ts";
import { oneOf, toRequirement } from "./requirement.ts";
import { Requirements } from "./requirements.ts";

/**
 * The alternative terms of required node affinity, each joined with the nodeSelector. Never empty. An empty term
 * matches no node, as in kube-scheduler. Upstream lets it match every node.
 */
export function requiredAlternatives(spec: Pod["spec"]): Requirements[] {
  const base = selectorRequirements(spec.nodeSelector);
  const some = requiredTerms(spec).filter(asksForSomething);
  return some.length === 0 ? [base] : some.map((term) => base.and(termRequirements(term)));
}

/** The first of {@link requiredAlternatives}, without computing the others. */
export function firstAlternative(spec: Pod["spec"]): Requirements {
  const base = selectorRequirements(spec.nodeSelector);
  const first = requiredTerms(spec).find(asksForSomething);
  return first === undefined ? base : base.and(termRequirements(first));
}

/** One alternative of a daemon: requirements of labels and names of nodes. */
export interface DaemonTerm {
  readonly wanted: Requirements;
  readonly fields: readonly NodeSelectorRequirement[];
}

/**
 * The alternatives of a DaemonSet's pod. None if all its terms are empty: then no node runs it. Terms may require
 * names of nodes. Upstream ignores these (pkg/scheduling/requirements.go) and expects such daemons on every node with
 * the labels.
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

/** Whether the term allows a node of this name. Undefined: a new node, whose name no term can contain. */
export function isMeantByName({ fields }: DaemonTerm, name: string | undefined): boolean {
  if (fields.length === 0) return true;
  const known = name === undefined ? {} : { "metadata.name": name };
  return matchesNodeSelectorTerm({ matchFields: fields }, undefined, known);
}

function requiredTerms({ affinity }: Pod["spec"]): readonly NodeSelectorTerm[] {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms ?? [];
}

/** Whether a term can match a node. Pods without such a term are refused before planning. */
export function asksForSomething({ matchExpressions = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.length > 0;
}

/** Reads matchExpressions only: pods with matchFields are refused before planning. */
export function termRequirements(term: NodeSelectorTerm): Requirements {
  return Requirements.of((term.matchExpressions ?? []).map(toRequirement));
}

/** A node selector as requirements; every key must have its value. */
function selectorRequirements(
  selector: Readonly<Record<string, string>> | undefined,
): Requirements {
  if (selector === undefined) return Requirements.NONE;
  const entries = Object.entries(selector);
  return Requirements.of(entries.map(([key, value]) => oneOf(key, [value])));
}
