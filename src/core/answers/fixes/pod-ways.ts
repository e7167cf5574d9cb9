/**
 * Edits of a pod alone with which it may get a place. They are tried whatever the obstacle is. After such an edit, the
 * pod may fit on an existing node, or on a node that is planned for other pods.
 */

import { hostPorts } from "../../../apis/core/host-ports.ts";
import type { Pod, PodSpec } from "../../../apis/core/pod.ts";
import { podRequests } from "../../../apis/core/pod-resources.ts";
import { fits, parseResources } from "../../../apis/resources.ts";
import { fieldOf } from "../../../base/json.ts";
import { compareText } from "../../../base/text-order.ts";
import { forbiddingTaints } from "../../scheduling/taints.ts";
import type { NodeView } from "../../state/node-view.ts";
import { type Edit, editedPod, type PodEdit, requestEdits } from "./edits.ts";
import { mayNotBeOvercommitted } from "./lower-requests.ts";
import { tolerationOf } from "./obstacles.ts";

/**
 * The smallest request that is tried, by resource; 1 for others. It shows whether a lower request helps at all. The
 * right amount is found later.
 */
const LEAST: Readonly<Record<string, number>> = {
  memory: 2 ** 20,
  "ephemeral-storage": 2 ** 20,
};
/** Kubernetes and Karpenter set and remove these taints themselves, so pods should not tolerate them. */
const TEMPORARY = /^(?:node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|karpenter\.sh)\//;
/** The most taints that are tried. Each one costs a plan. */
const TRIED_TAINTS = 4;

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

/** One edit for each host port. It removes the port from all containers that use it. */
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

/** One edit for each topology rule of the pod. It drops the rule. */
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

/**
 * Edits that tolerate a taint, if this taint is all that keeps the pod from a node with enough room. Taints on the most
 * nodes come first.
 */
function tolerations(pod: Pod, nodes: readonly NodeView[]): PodEdit[] {
  const requests = podRequests(pod);
  const found = new Map<string, { readonly edit: PodEdit; nodes: number }>();
  for (const { deleting, taints, available } of nodes) {
    const [taint, ...others] = forbiddingTaints(pod.spec.tolerations, taints);
    if (deleting || taint === undefined || others.length > 0) continue;
    if (TEMPORARY.test(taint.key) || !fits(requests, available)) continue;
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

/** Label keys of the pod's selector and required node affinity. */
function requiredKeys({ nodeSelector = {}, affinity }: PodSpec): Set<string> {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const keys = (required?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.map(({ key }) => key),
  );
  return new Set([...Object.keys(nodeSelector), ...keys]);
}

/**
 * Edits that lower requests to the smallest amount. For each resource there are up to two ways: in the container whose
 * request matters most, or in all containers that request it. The overhead of the RuntimeClass is not changed.
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
        // Requests of the pod itself can only be lowered together with those of its containers.
        .flatMap((edit) => ("container" in edit ? { ...edit, to: Math.max(edit.to, least) } : []))
        .sort((a, b) => left(a) - left(b));
      const isOfUse = one !== undefined && left(one) < (requests[resource] ?? 0);
      return isOfUse ? [[one], all] : [all];
    });
}
