/**
 * Evaluates label selectors and node selector terms as Kubernetes does, and writes label selectors as text for list
 * requests.
 * upstream: apimachinery pkg/labels, component-helpers scheduling/corev1/nodeaffinity
 */
import type { LabelSelector, LabelSelectorRequirement } from "../meta.ts";
import type { NodeSelectorRequirement, NodeSelectorTerm } from "./pod.ts";

type Labels = Readonly<Record<string, string>>;

/** Whether labels match a selector. An absent selector matches nothing; an empty one matches everything. */
export function matchesLabelSelector(
  selector: LabelSelector | undefined,
  labels: Labels | undefined,
): boolean {
  if (selector === undefined) return false;
  const { matchLabels, matchExpressions } = selector;
  for (const key in matchLabels) if (labels?.[key] !== matchLabels[key]) return false;
  return matchExpressions?.every((one) => matchesOne(one, labels?.[one.key])) ?? true;
}

/** Whether all wanted labels are present, as for a Service's selector. An empty map matches everything. */
export function matchesLabels(wanted: Labels | undefined, labels: Labels | undefined): boolean {
  for (const key in wanted) if (labels?.[key] !== wanted[key]) return false;
  return true;
}

/** The selector as text for the query `labelSelector=` and `kubectl -l`, such as `a=b,e in (f,g),h notin (i),j,!k`. */
export function formatLabelSelector(selector: LabelSelector): string {
  const parts = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    if (operator === "Exists") parts.push(key);
    else if (operator === "DoesNotExist") parts.push(`!${key}`);
    else parts.push(`${key} ${operator === "In" ? "in" : "notin"} (${(values ?? []).join(",")})`);
  }
  return parts.join(",");
}

/**
 * Whether a node satisfies one term of required node affinity. A term without any expression matches nothing. `fields`:
 * contains `metadata.name`. The caller combines terms: one must match.
 */
export function matchesNodeSelectorTerm(
  term: NodeSelectorTerm,
  labels: Labels | undefined,
  fields: Labels = {},
): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) => matchesOne(one, labels?.[one.key])) &&
    matchFields.every((one) => matchesOne(one, fields[one.key]))
  );
}

/** Whether a value, or its absence, satisfies one requirement. */
function matchesOne(
  one: LabelSelectorRequirement | NodeSelectorRequirement,
  value: string | undefined,
): boolean {
  switch (one.operator) {
    case "In":
      return value !== undefined && (one.values?.includes(value) ?? false);
    case "NotIn":
      return value === undefined || !(one.values?.includes(value) ?? false);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt": {
      const bound = one.values?.[0];
      if (value === undefined || bound === undefined || one.values?.length !== 1) return false;
      if (!/^-?\d+$/.test(value) || !/^-?\d+$/.test(bound)) return false;
      return one.operator === "Gt" ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
    default:
      return false;
  }
}
