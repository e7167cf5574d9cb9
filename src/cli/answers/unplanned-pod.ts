/**
 * Why Karpenter plans no place for a pod without a node, and what the pod waits for instead. For a DaemonSet pod this
 * is room on its own node: kube-scheduler binds it there, and Karpenter launches no node for it.
 */
import { isOwnedByDaemonSet, isOwnedByNode, type Pod } from "../../apis/core/pod.ts";
import { podRequests } from "../../apis/core/pod-resources.ts";
import { condition } from "../../apis/karpenter/conditions.ts";
import { formatResource } from "../../apis/resources.ts";
import type { NodeView } from "../../core/state/node-view.ts";

/** The reason, as the end of a sentence. */
export function whyUnplanned(pod: Pod, nodes: readonly NodeView[]): string {
  const { nodeName, schedulingGates: gates = [] } = pod.spec;
  if (nodeName) return `its node ${nodeName} is not in the input`;
  if (pod.metadata.deletionTimestamp !== undefined) return "it is being deleted";
  if (gates.length > 0) {
    const names = gates.map(({ name }) => name).join(", ");
    return `its scheduling gates hold it: ${names}. Whoever set them must remove them before kube-scheduler looks at it`;
  }
  if (isOwnedByDaemonSet(pod)) return daemonText(pod, nodes);
  const nominated = pod.status?.nominatedNodeName;
  if (nominated)
    return `kube-scheduler evicts pods of lower priority from ${nominated} for it, and binds it there next`;
  return "it is being deleted";
}

const NO_LAUNCH =
  "Karpenter launches no node for DaemonSet pods: it leaves room for them on each new node";

function daemonText(pod: Pod, nodes: readonly NodeView[]): string {
  const target = targetOf(pod);
  const node = nodes.find(({ name }) => name === target);
  if (target === undefined || node === undefined)
    return `kube-scheduler waits for ${target === undefined ? "its node" : `its node ${target}, which is not in the input`}. ${NO_LAUNCH}`;
  const lacks = lackingText(pod, node);
  if (lacks === "") {
    const { message = "" } = condition(pod, "PodScheduled") ?? {};
    const told = message === "" ? "" : `; kube-scheduler says: ${message}`;
    return `kube-scheduler has to bind it to ${target}, where its requests fit${told}. ${NO_LAUNCH}`;
  }
  return `kube-scheduler waits for room on its node ${target}: ${lacks}. ${NO_LAUNCH}. ${remedy(pod, node)}`;
}

/** The node that the DaemonSet controller chose for its pod: it writes it as a field selector of the pod's affinity. */
function targetOf({ spec }: Pod): string | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = (required?.nodeSelectorTerms ?? []).flatMap(({ matchFields = [] }) => matchFields);
  return fields.find(({ key }) => key === "metadata.name")?.values?.[0];
}

/** What the node lacks for the pod: `cpu: 200m asked for, 50m free`. Empty: nothing. */
function lackingText(pod: Pod, { available }: NodeView): string {
  return Object.entries(podRequests(pod))
    .filter(([name, amount]) => amount > Math.max(0, available[name] ?? 0))
    .map(([name, amount]) => {
      const free = Math.max(0, available[name] ?? 0);
      return `${name}: ${formatResource(name, amount)} asked for, ${formatResource(name, free)} free`;
    })
    .join("; ");
}

function remedy(pod: Pod, { pods }: NodeView): string {
  const others = pods.filter((one) => !isOwnedByDaemonSet(one) && !isOwnedByNode(one));
  const least = Math.min(...others.map(priorityOf));
  if (others.length > 0 && priorityOf(pod) > least && pod.spec.preemptionPolicy !== "Never")
    return "Its priority is higher than that of other pods there, so kube-scheduler evicts some of them (preemption)";
  return "Give the DaemonSet a priorityClassName above the other pods there, so that kube-scheduler evicts some of them (preemption), or move pods away";
}

function priorityOf({ spec }: Pod): number {
  return spec.priority ?? 0;
}
