/**
 * What could be changed about a pod alone, one edit a way, whatever keeps it from a place: a node that runs
 * already may take it then, or one that is planned for others.
 */
import { hostPorts } from "../../apis/core/host-ports.ts";
import type { Pod, PodSpec } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { firstUntolerated } from "../../apis/core/tolerations.ts";
import type { NodeView } from "../state/node-view.ts";
import { type Edit, type PodEdit, requestEdits } from "./edits.ts";
import { mayNotBeOvercommitted } from "./lower-requests.ts";
import { tolerationOf } from "./obstacles.ts";

/** Hardly any: whether it helps at all; how little it must be is found out then. */
const LEAST: Readonly<Record<string, number>> = {
  memory: 2 ** 20,
  "ephemeral-storage": 2 ** 20,
};
/** Taints that come and go with the state of a node are not for pods to tolerate. */
const PASSING = /^(?:node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|karpenter\.sh)\//;

export function podWays(pod: Pod, nodes: readonly NodeView[]): Edit[][] {
  return [
    ...tolerations(pod, nodes),
    ...[...requiredKeys(pod.spec)].map((key): PodEdit => ({ on: "pod", change: "dropKey", key })),
    ...portEdits(pod),
    ...ruleEdits(pod),
  ]
    .map((edit): Edit[] => [edit])
    .concat(lessOfEach(pod));
}

/** Host ports, given up one by one. */
export function portEdits(pod: Pod): PodEdit[] {
  return hostPorts(pod).map(({ port }) => ({ on: "pod", change: "dropHostPort", port }));
}

/** Rules about other pods, given up one by one. */
export function ruleEdits({ spec }: Pod): PodEdit[] {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const over =
    (rule: "spread" | "affinity" | "antiAffinity") =>
    (terms: readonly { readonly topologyKey: string }[] = []): PodEdit[] =>
      [...new Set(terms.map(({ topologyKey }) => topologyKey))].map((topologyKey) => ({
        on: "pod",
        change: "dropRule",
        rule,
        topologyKey,
      }));
  return [
    ...over("spread")(spec.topologySpreadConstraints),
    ...over("affinity")(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    ...over("antiAffinity")(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
  ];
}

function tolerations({ spec }: Pod, nodes: readonly NodeView[]): PodEdit[] {
  const found = new Map<string, PodEdit>();
  for (const taint of nodes.flatMap(({ deleting, taints }) => (deleting ? [] : taints))) {
    if (PASSING.test(taint.key) || firstUntolerated(spec.tolerations ?? [], [taint]) === undefined)
      continue;
    const toleration = tolerationOf(taint);
    found.set(JSON.stringify(toleration), { on: "pod", change: "tolerate", toleration });
  }
  return [...found.values()];
}

/** Label keys that a node must have for the pod, by selector or required affinity. */
function requiredKeys({ nodeSelector = {}, affinity }: PodSpec): Set<string> {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const keys = (required?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.map(({ key }) => key),
  );
  return new Set([...Object.keys(nodeSelector), ...keys]);
}

function lessOfEach(pod: Pod): Edit[][] {
  return Object.keys(podRequests(pod))
    .sort()
    .flatMap((resource) => {
      const least = mayNotBeOvercommitted(resource) ? 0 : (LEAST[resource] ?? 1);
      const edits = requestEdits(pod, resource, least) ?? [];
      return edits.length === 0 ? [] : [edits];
    });
}
