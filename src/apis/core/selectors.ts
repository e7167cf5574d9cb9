/**
 * Label selectors and node selector terms as Kubernetes means them, and the text form of label selectors in
 * list requests. upstream: apimachinery pkg/labels, component-helpers scheduling/corev1/nodeaffinity
 */
import type { LabelSelector, LabelSelectorRequirement } from "../meta.ts";
import type { NodeSelectorRequirement, NodeSelectorTerm } from "./pod.ts";

type Labels = Readonly<Record<string, string>>;

/** An absent selector selects nothing; an empty one selects everything. */
export function matchesLabelSelector(
  selector: LabelSelector | undefined,
  labels: Labels | undefined,
): boolean {
  if (selector === undefined) return false;
  const { matchLabels, matchExpressions } = selector;
  for (const key in matchLabels) if (labels?.[key] !== matchLabels[key]) return false;
  return matchExpressions?.every((one) => matchesOne(one, labels?.[one.key])) ?? true;
}

/** Whether all of a Service-like map of labels is there. An empty map matches everything. */
export function matchesLabels(wanted: Labels | undefined, labels: Labels | undefined): boolean {
  for (const key in wanted) if (labels?.[key] !== wanted[key]) return false;
  return true;
}

/**
 * The text of `labelSelector=` queries and `kubectl -l`: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
 * `undefined` when the text is not of that grammar. The empty text selects everything.
 */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  const matchExpressions: LabelSelectorRequirement[] = [];
  for (const part of splitOutsideParentheses(text)) {
    if (part === "" && text.trim() === "") continue;
    const requirement = parseRequirement(part);
    if (requirement === undefined) return undefined;
    matchExpressions.push(requirement);
  }
  return { matchExpressions };
}

/** The inverse, for requests. */
export function formatLabelSelector(selector: LabelSelector): string {
  const parts = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    if (operator === "Exists") parts.push(key);
    else if (operator === "DoesNotExist") parts.push(`!${key}`);
    else parts.push(`${key} ${operator === "In" ? "in" : "notin"} (${(values ?? []).join(",")})`);
  }
  return parts.join(",");
}

const KEY = "[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?";
const EQUALITY = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*([A-Za-z0-9._-]*)$`);
const MEMBERSHIP = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const PRESENCE = new RegExp(`^(!?)\\s*(${KEY})$`);

function parseRequirement(part: string): LabelSelectorRequirement | undefined {
  const equality = EQUALITY.exec(part);
  if (equality !== null) {
    const [, key, operator, value] = equality as unknown as [string, string, string, string];
    return { key, operator: operator === "!=" ? "NotIn" : "In", values: [value] };
  }
  const membership = MEMBERSHIP.exec(part);
  if (membership !== null) {
    const [, key, operator, list] = membership as unknown as [string, string, string, string];
    const values = list.split(",").map((value) => value.trim());
    return { key, operator: operator === "in" ? "In" : "NotIn", values };
  }
  const presence = PRESENCE.exec(part);
  if (presence === null) return undefined;
  const [, not, key] = presence as unknown as [string, string, string];
  return { key, operator: not === "!" ? "DoesNotExist" : "Exists" };
}

function splitOutsideParentheses(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")") depth--;
    else if (text[i] === "," && depth === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts;
}

/**
 * Whether a node satisfies one term of required node affinity; terms are ORed by the caller. A term
 * without any expression matches nothing. `fields` knows `metadata.name`.
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

/** One requirement of a label or node selector against the value that is there, if any. */
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
