/**
 * What could be changed about a pod alone, one edit a way, whatever keeps it from a place: a node that runs
 * already may take it then, or one that is planned for others.
 */

import { hostPorts } from "../../../apis/core/host-ports.ts";
import type { Taint } from "../../../apis/core/node.ts";
import type { Pod, PodSpec, TaintEffect } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { fits, parseResources } from "../../../apis/resources.ts";
import { fieldOf } from "../../../base/json.ts";
import { compareText } from "../../../base/text-order.ts";
import type { NodeView } from "../../state/node-view.ts";
import { type Edit, editedPod, type PodEdit, requestEdits } from "./edits.ts";
import { mayNotBeOvercommitted } from "./lower-requests.ts";
import { tolerationOf } from "./obstacles.ts";

/** Hardly any: whether it helps at all; how little it must be is found out then. */
const LEAST: Readonly<Record<string, number>> = {
  memory: 2 ** 20,
  "ephemeral-storage": 2 ** 20,
};
/** Taints that come and go with the state of a node are not for pods to tolerate. */
const PASSING = /^(?:node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|karpenter\.sh)\//;
/** Each costs a plan, and what else could be changed is to be tried, too. */
const TRIED_TAINTS = 4;
const HARD: readonly TaintEffect[] = ["NoSchedule", "NoExecute"];

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

/** Host ports, given up one by one, whoever in the pod has them. */
export function portEdits({ metadata, spec }: Pod): PodEdit[] {
  const portsOf = (some: Pod["spec"]) =>
    hostPorts({ metadata, spec: some }).map(({ port }) => port);
  const own = new Set(portsOf({ ...spec, initContainers: [] }));
  const ofSidecars = new Set(portsOf({ ...spec, containers: [] }));
  return [...new Set([...own, ...ofSidecars])].map((port) => ({
    on: "pod",
    change: "dropHostPort",
    port,
    of: [
      ...(own.has(port) ? (["containers"] as const) : []),
      ...(ofSidecars.has(port) ? (["initContainers"] as const) : []),
    ],
  }));
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

/** Of taints that alone keep the pod from a node with room for it those of the most nodes. */
function tolerations(pod: Pod, nodes: readonly NodeView[]): PodEdit[] {
  const requests = podRequests(pod);
  const found = new Map<string, { readonly edit: PodEdit; nodes: number }>();
  for (const { deleting, taints, available } of nodes) {
    const [taint, ...others] = taints.filter((one) => isInTheWay(pod, one));
    if (deleting || taint === undefined || others.length > 0) continue;
    if (PASSING.test(taint.key) || !fits(requests, available)) continue;
    const toleration = tolerationOf(taint);
    const text = JSON.stringify(toleration);
    const known = found.get(text);
    if (known !== undefined) known.nodes++;
    else found.set(text, { edit: { on: "pod", change: "tolerate", toleration }, nodes: 1 });
  }
  return [...found]
    .sort(([a, one], [b, other]) => other.nodes - one.nodes || compareText(a, b))
    .slice(0, TRIED_TAINTS)
    .map(([, { edit }]) => edit);
}

function isInTheWay({ spec }: Pod, taint: Taint): boolean {
  return firstUntolerated(spec.tolerations, [taint], { effects: HARD }) !== undefined;
}

/** Label keys that a node must have for the pod, by selector or required affinity. */
function requiredKeys({ nodeSelector = {}, affinity }: PodSpec): Set<string> {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const keys = (required?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.map(({ key }) => key),
  );
  return new Set([...Object.keys(nodeSelector), ...keys]);
}

/**
 * Of each resource hardly any: of all containers that ask for it, or of the one alone that matters most, so that
 * more than one gives way only where one is not enough. What the pod's runtime needs stays.
 */
function lessOfEach(pod: Pod): Edit[][] {
  const overhead = parseResources(pod.spec.overhead);
  const requests = podRequests(pod);
  return Object.keys(requests)
    .sort()
    .flatMap((resource) => {
      const least = mayNotBeOvercommitted(resource) ? 0 : (fieldOf(LEAST, resource) ?? 1);
      const all = requestEdits(pod, resource, (overhead[resource] ?? 0) + least) ?? [];
      if (all.length < 2) return all.length === 0 ? [] : [all];
      const left = (edit: PodEdit) => podRequests(editedPod(pod, edit))[resource] ?? 0;
      const [one] = all
        // Amounts of the pod as a whole go together with those of its containers.
        .flatMap((edit) => ("container" in edit ? { ...edit, to: Math.max(edit.to, least) } : []))
        .sort((a, b) => left(a) - left(b));
      const isOfUse = one !== undefined && left(one) < (requests[resource] ?? 0);
      return isOfUse ? [[one], all] : [all];
    });
}
