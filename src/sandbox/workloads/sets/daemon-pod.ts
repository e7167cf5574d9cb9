/**
 * The pods of a DaemonSet: on which nodes its template may run, the pod for one node, and the node of a pod.
 * It adds the tolerations that every daemon pod has.
 */
import { DAEMON_SET, type DaemonSet } from "../../../apis/apps/kinds.ts";
import type { Node } from "../../../apis/core/node.ts";
import type { Pod, Toleration } from "../../../apis/core/pod.ts";
import { matchesNodeSelectorTerm } from "../../../apis/core/selectors.ts";
import { firstUntolerated } from "../../../apis/core/tolerations.ts";
import { type PodName, podOf } from "../controls.ts";
import { HASH_LABEL } from "./daemon-rollout.ts";

const GENERATION_ANNOTATION = "deprecated.daemonset.template.generation";
const GENERATION_LABEL = "pod-template-generation";
/** The field of a node in the affinity of a daemon pod. */
const NODE_NAME = "metadata.name";

/** Tolerations of every daemon pod. upstream: AddOrUpdateDaemonPodTolerations */
const DAEMON_TOLERATIONS: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const HOST_NETWORK_TOLERATION: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

/** Makes the pod for one node. */
export function daemonPod(set: DaemonSet, hash: string, nodeName: string, name: PodName): Pod {
  const { template } = set.spec;
  const pod = podOf(DAEMON_SET, set, template, name);
  const generation = set.metadata.annotations?.[GENERATION_ANNOTATION];
  const labels = {
    ...pod.metadata.labels,
    [HASH_LABEL]: hash,
    ...(generation === undefined ? {} : { [GENERATION_LABEL]: generation }),
  };
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      ...pod.spec,
      tolerations: daemonTolerations(set),
      affinity: pinnedTo(nodeName, pod),
    },
  };
}

/** Whether a daemon pod should be created on the node (`run`), and whether an existing one may stay (`keep`). */
export function fitOfDaemon(set: DaemonSet, node: Node): { run: boolean; keep: boolean } {
  const { spec } = set.spec.template;
  const none = { run: false, keep: false };
  if (spec.nodeName !== undefined && spec.nodeName !== node.metadata.name) return none;
  const labels = node.metadata.labels ?? {};
  const selector = spec.nodeSelector ?? {};
  for (const key in selector) if (labels[key] !== selector[key]) return none;
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const fields = { [NODE_NAME]: node.metadata.name };
  if (terms?.some((term) => matchesNodeSelectorTerm(term, labels, fields)) === false) return none;
  const taints = node.spec?.taints ?? [];
  const tolerations = daemonTolerations(set);
  const noExecute = firstUntolerated(tolerations, taints, { effects: ["NoExecute"] });
  const noSchedule = firstUntolerated(tolerations, taints, { effects: ["NoSchedule"] });
  return {
    run: noExecute === undefined && noSchedule === undefined,
    keep: noExecute === undefined,
  };
}

function daemonTolerations(set: DaemonSet): readonly Toleration[] {
  const { spec } = set.spec.template;
  const added =
    spec.hostNetwork === true
      ? [...DAEMON_TOLERATIONS, HOST_NETWORK_TOLERATION]
      : DAEMON_TOLERATIONS;
  return [...(spec.tolerations ?? []), ...added];
}

/**
 * Affinity that requires one node. It replaces the template's own terms, which were checked for this node
 * before.
 * upstream: kubernetes pkg/controller/daemon/util (ReplaceDaemonSetPodNodeNameNodeAffinity)
 */
function pinnedTo(nodeName: string, pod: Pod): NonNullable<Pod["spec"]["affinity"]> {
  const { affinity } = pod.spec;
  const pin = { key: NODE_NAME, operator: "In" as const, values: [nodeName] };
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [pin] }],
      },
    },
  };
}

/** Pods by node. A pending pod counts for the node in its affinity. */
export function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const result = new Map<string, Pod[]>();
  for (const pod of pods) {
    const name = pod.spec.nodeName ?? targetOf(pod);
    if (name === undefined) continue;
    const list = result.get(name) ?? [];
    list.push(pod);
    result.set(name, list);
  }
  return result;
}

function targetOf(pod: Pod): string | undefined {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === NODE_NAME && operator === "In")?.values?.[0];
}

/** Orders pods by age, the oldest first. */
export function byAge(a: Pod, b: Pod): number {
  const [aAt, bAt] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (aAt !== bAt) return aAt < bAt ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}
