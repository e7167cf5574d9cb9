/**
 * Topology spread for pods that have no topologySpreadConstraints, as the operator configured it. The selector comes
 * from the Services that select the pod and from the pod's controller, as in kube-scheduler. A pod with neither gets
 * no spread. upstream: SCHEDULER_CONFIG, podTopologySpread
 */
import type { Service } from "../../../apis/core/kinds.ts";
import type { Pod, TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import { qualifiedNameProblem } from "../../../apis/karpenter/label-syntax.ts";
import type { KubeObject, LabelSelector, LabelSelectorRequirement } from "../../../apis/meta.ts";
import { isObject } from "../../../base/json.ts";

/**
 * The objects from which the selector of a default spread is made. Workloads: ReplicaSets, StatefulSets,
 * ReplicationControllers.
 */
export interface SelectorFacts {
  readonly services: readonly Service[];
  readonly workloads: readonly KubeObject[];
}

/** The problems of a parsed configuration, each with the field that has it. */
export function defaultSpreadProblems(config: unknown): string[] {
  if (!isObject(config)) return ["wanted an object with podTopologySpread"];
  const problems = strangers(config, ["podTopologySpread"], "");
  const spread = config["podTopologySpread"];
  if (spread === undefined) return problems;
  if (!isObject(spread)) return [...problems, "podTopologySpread: wanted an object"];
  problems.push(...strangers(spread, ["defaultConstraints"], "podTopologySpread."));
  const constraints = spread["defaultConstraints"] ?? [];
  const list = "podTopologySpread.defaultConstraints";
  if (!Array.isArray(constraints)) return [...problems, `${list}: wanted a list`];
  const seen = new Set<string>();
  constraints.forEach((one, index) => {
    const at = `${list}[${index}]`;
    problems.push(...constraintProblems(one, at));
    const { topologyKey, whenUnsatisfiable } = isObject(one) ? one : {};
    const pair = `${topologyKey} ${whenUnsatisfiable}`;
    if (seen.has(pair)) problems.push(`${at}: ${pair} is there already`);
    seen.add(pair);
  });
  return problems;
}

/** The constraints of a configuration that {@link defaultSpreadProblems} accepts. */
export function defaultConstraints(config: unknown): readonly TopologySpreadConstraint[] {
  const spread = (config as { podTopologySpread?: { defaultConstraints?: unknown } } | undefined)
    ?.podTopologySpread;
  return (spread?.defaultConstraints ?? []) as readonly TopologySpreadConstraint[];
}

/** The configured constraints, and the objects from which selectors are made. */
export interface DefaultSpread extends SelectorFacts {
  readonly constraints: readonly TopologySpreadConstraint[];
}

/**
 * Returns a function that copies a pod and adds the default spread. A pod with a spread of its own is returned
 * unchanged.
 */
export function defaultSpreader(spread: DefaultSpread | undefined): (pod: Pod) => Pod {
  if (spread === undefined || spread.constraints.length === 0) return (pod) => pod;
  const { constraints, services } = spread;
  const workloads = new Map(spread.workloads.map((one) => [identity(one.kind ?? "", one), one]));
  return (pod) => {
    if ((pod.spec.topologySpreadConstraints ?? []).length > 0) return pod;
    const labelSelector = deducedSelector(pod, services, workloads);
    if (labelSelector === undefined) return pod;
    const own = constraints.map((one) => ({ ...one, labelSelector }));
    return { ...pod, spec: { ...pod.spec, topologySpreadConstraints: own } };
  };
}

function deducedSelector(
  pod: Pod,
  services: readonly Service[],
  workloads: ReadonlyMap<string, KubeObject>,
): LabelSelector | undefined {
  const { namespace = "default", labels = {}, ownerReferences = [] } = pod.metadata;
  let matchLabels: Record<string, string> = {};
  for (const service of services) {
    const selector = service.spec?.selector;
    if ((service.metadata.namespace ?? "default") !== namespace || selector === undefined) continue;
    const entries = Object.entries(selector);
    if (entries.length === 0 || entries.some(([key, value]) => labels[key] !== value)) continue;
    matchLabels = { ...matchLabels, ...selector };
  }
  const expressions: LabelSelectorRequirement[] = [];
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const found =
    owner === undefined ? undefined : workloads.get(`${owner.kind} ${namespace}/${owner.name}`);
  const selector = (found as { spec?: { selector?: unknown } } | undefined)?.spec?.selector;
  if (owner?.kind === "ReplicationController") {
    matchLabels = { ...matchLabels, ...(selector as Record<string, string> | undefined) };
  } else if (selector !== undefined) {
    const { matchLabels: wanted = {}, matchExpressions = [] } = selector as LabelSelector;
    for (const [key, value] of Object.entries(wanted)) {
      expressions.push({ key, operator: "In", values: [value] });
    }
    expressions.push(...matchExpressions);
  }
  if (Object.keys(matchLabels).length === 0 && expressions.length === 0) return undefined;
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions }),
  };
}

function identity(kind: string, { metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace ?? "default"}/${metadata.name}`;
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
  problems.push(...strangers(value, [...FIELDS, "labelSelector", "matchLabelKeys"], `${at}.`));
  const { maxSkew, topologyKey, whenUnsatisfiable } = value;
  if (!Number.isSafeInteger(maxSkew) || (maxSkew as number) < 1)
    problems.push(`${at}.maxSkew: wanted a whole number above 0, got ${JSON.stringify(maxSkew)}`);
  if (typeof topologyKey !== "string" || qualifiedNameProblem(topologyKey) !== undefined)
    problems.push(`${at}.topologyKey: wanted a label key, got ${JSON.stringify(topologyKey)}`);
  if (whenUnsatisfiable !== "DoNotSchedule" && whenUnsatisfiable !== "ScheduleAnyway")
    problems.push(`${at}.whenUnsatisfiable: wanted DoNotSchedule or ScheduleAnyway`);
  return problems;
}

function strangers(value: object, known: readonly string[], at: string): string[] {
  return Object.keys(value)
    .filter((key) => !known.includes(key))
    .map((key) => `${at}${key}: unknown field`);
}
