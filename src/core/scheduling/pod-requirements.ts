/**
 * What a pod asks of its node's labels. Of several required terms the first counts, of the
 * preferred ones the heaviest; the others are reached by relaxation. upstream:
 * pkg/scheduling/requirements.go
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from "../../apis/core/pod.ts";
import { matchesNodeSelectorTerm } from "../../apis/core/selectors.ts";
import { oneOf, toRequirement } from "./requirement.ts";
import { Requirements } from "./requirements.ts";

/**
 * The OR terms of required node affinity, each joined with the nodeSelector. Never empty. A term that asks for
 * nothing matches no node, as the scheduler has it; upstream takes it for one that matches all.
 */
export function requiredAlternatives(spec: Pod["spec"]): Requirements[] {
  const base = selectorRequirements(spec.nodeSelector);
  const some = requiredTerms(spec).filter(asksForSomething);
  return some.length === 0 ? [base] : some.map((term) => base.and(termRequirements(term)));
}

/** The first of {@link requiredAlternatives}: the others are not worked out. */
export function firstAlternative(spec: Pod["spec"]): Requirements {
  const base = selectorRequirements(spec.nodeSelector);
  const first = requiredTerms(spec).find(asksForSomething);
  return first === undefined ? base : base.and(termRequirements(first));
}

/** One way in which a node may be for a daemon: its labels, and its name. */
export interface DaemonTerm {
  readonly wanted: Requirements;
  readonly fields: readonly NodeSelectorRequirement[];
}

/**
 * As {@link requiredAlternatives}, of a DaemonSet's pod, which nobody refuses before: none where no term of it asks
 * for anything, for then no node is to run it. Terms may ask for names of nodes; upstream leaves those unread
 * (pkg/scheduling/requirements.go) and expects such daemons on every node with the labels.
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

/** Whether a node of that name is meant. Undefined: one to come, whose name nobody can have written down. */
export function isMeantByName({ fields }: DaemonTerm, name: string | undefined): boolean {
  if (fields.length === 0) return true;
  const known = name === undefined ? {} : { "metadata.name": name };
  return matchesNodeSelectorTerm({ matchFields: fields }, undefined, known);
}

function requiredTerms({ affinity }: Pod["spec"]): readonly NodeSelectorTerm[] {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms ?? [];
}

/** Whether a term can match at all. Pods with terms none of which does are refused before planning. */
export function asksForSomething({ matchExpressions = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.length > 0;
}

/** matchExpressions only: pods with matchFields are refused before planning. */
export function termRequirements(term: NodeSelectorTerm): Requirements {
  return Requirements.of((term.matchExpressions ?? []).map(toRequirement));
}

export function selectorRequirements(
  selector: Readonly<Record<string, string>> | undefined,
): Requirements {
  if (selector === undefined) return Requirements.NONE;
  const entries = Object.entries(selector);
  return Requirements.of(entries.map(([key, value]) => oneOf(key, [value])));
}
