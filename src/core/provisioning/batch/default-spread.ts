/**
 * Topology spread for pods that have no topologySpreadConstraints, as the operator configured it. As in kube-scheduler,
 * the selector comes from the Services that select the pod and from its controller. A pod with neither gets no spread.
 * upstream: the setting SCHEDULER_CONFIG (podTopologySpread)
 */
import type { Service } from "../../../apis/core/kinds.ts";
import type { Pod, TopologySpreadConstraint } from "../../../apis/core/pod.ts";
import type { KubeObject, LabelSelector, LabelSelectorRequirement } from "../../../apis/meta.ts";

/** The objects from which selectors are made. Workloads: ReplicaSets, StatefulSets, ReplicationControllers. */
export interface SelectorFacts {
  readonly services: readonly Service[];
  readonly workloads: readonly KubeObject[];
}

export interface DefaultSpread extends SelectorFacts {
  readonly constraints: readonly TopologySpreadConstraint[];
}

/** Returns a function that adds the default spread to a copy of a pod without a spread of its own. */
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
