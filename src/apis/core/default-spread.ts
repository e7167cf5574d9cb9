/**
 * Topology spread constraints that a scheduler gives to pods without constraints of their own: what is wrong with such
 * a list. kube-scheduler's configuration and Karpenter's setting SCHEDULER_CONFIG have the same list.
 * upstream: kubernetes pkg/scheduler/apis/config/validation (ValidatePodTopologySpreadArgs)
 */
import { isObject } from "../../base/json.ts";
import { qualifiedNameProblem } from "../karpenter/label-syntax.ts";

/** The problems of a parsed list, each with its field. `at` is the path of the list. */
export function defaultConstraintsProblems(constraints: unknown, at: string): string[] {
  if (!Array.isArray(constraints)) return [`${at}: wanted a list`];
  const problems: string[] = [];
  const seen = new Set<string>();
  constraints.forEach((one, index) => {
    const place = `${at}[${index}]`;
    problems.push(...constraintProblems(one, place));
    const { topologyKey, whenUnsatisfiable } = isObject(one) ? one : {};
    const pair = `${topologyKey} ${whenUnsatisfiable}`;
    if (seen.has(pair)) problems.push(`${place}: ${pair} is there already`);
    seen.add(pair);
  });
  return problems;
}

const FIELDS = [
  "maxSkew",
  "topologyKey",
  "whenUnsatisfiable",
  "minDomains",
  "nodeAffinityPolicy",
  "nodeTaintsPolicy",
];

function constraintProblems(value: unknown, at: string): string[] {
  if (!isObject(value)) return [`${at}: wanted an object`];
  const problems: string[] = [];
  for (const field of ["labelSelector", "matchLabelKeys"]) {
    if (value[field] !== undefined)
      problems.push(`${at}.${field}: leave it out, it is deduced from Services and controllers`);
  }
  problems.push(...unknownFields(value, [...FIELDS, "labelSelector", "matchLabelKeys"], `${at}.`));
  const { maxSkew, topologyKey, whenUnsatisfiable } = value;
  if (!Number.isSafeInteger(maxSkew) || (maxSkew as number) < 1)
    problems.push(`${at}.maxSkew: wanted a whole number above 0, got ${JSON.stringify(maxSkew)}`);
  if (typeof topologyKey !== "string" || qualifiedNameProblem(topologyKey) !== undefined)
    problems.push(`${at}.topologyKey: wanted a label key, got ${JSON.stringify(topologyKey)}`);
  if (whenUnsatisfiable !== "DoNotSchedule" && whenUnsatisfiable !== "ScheduleAnyway")
    problems.push(`${at}.whenUnsatisfiable: wanted DoNotSchedule or ScheduleAnyway`);
  return problems;
}

/** A problem for each field of the object that is not `known`. `at` ends with a dot, or is empty. */
export function unknownFields(value: object, known: readonly string[], at: string): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${at}${key}: unknown field`);
}
