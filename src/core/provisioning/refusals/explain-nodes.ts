/** Explains why existing nodes refuse a pod. Nodes with the same reason are grouped, the most frequent reason first. */
import { formatTaint } from "../../../apis/core/tolerations.ts";
import { HOSTNAME_LABEL_KEY } from "../../../apis/karpenter/labels.ts";
import { formatResource } from "../../../apis/resources.ts";
import { compareText } from "../../../base/text-order.ts";
import { within } from "../../../base/within.ts";
import { formatRequirement } from "../../scheduling/requirement.ts";
import { variantsOf } from "../batch/pod-class.ts";
import type { QueuedPod } from "../batch/queue.ts";
import { Attempt } from "../feasibility/attempt.ts";
import { type NodeRefusal, reasonOf } from "../feasibility/node-refusal.ts";
import type { ExistingNode } from "../nodes/existing-node.ts";
import type { Pass } from "../place.ts";
import type { NodesRefusal } from "../result.ts";
import type { TopologyGroup } from "../topology/topology-group.ts";
import { RULE_NAMES } from "../topology/topology-sentence.ts";

/** The part of the scheduling state that is needed to check existing nodes. */
export type AskedPass = Pick<Pass, "nodes" | "classes" | "context">;

/** The nodes that refuse a pod at the same stage because of the same object. */
interface Alike {
  readonly refusal: NodeRefusal;
  /** Whether pods that the pod must share a host with run on these nodes. */
  readonly isBeside: boolean;
  readonly nodes: string[];
  /** Only for resources: the largest amount that one of the nodes has left. */
  mostLeft: number;
}

/** The refusals of all existing nodes, where pods of the plan take up room. Preferences of the pod do not count. */
export function nodesRefusing(item: QueuedPod, pass: AskedPass): readonly NodesRefusal[] {
  const groups = new Map<string, Alike>();
  const beside = hostsBeside(item.podClass, pass);
  for (const node of pass.nodes) {
    const refusal = hardRefusal(item, node, pass);
    if (refusal === undefined) continue;
    const isBeside = beside.has(node.hostname);
    const group = within(groups, `${isBeside} ${groupOf(refusal)}`, () => ({
      refusal,
      isBeside,
      nodes: [],
      mostLeft: 0,
    }));
    group.nodes.push(node.view.name);
    if (refusal.stage === "resources") group.mostLeft = Math.max(group.mostLeft, refusal.left);
  }
  return [...groups.values()]
    .map((group) => ({
      reason: reasonOf(group.refusal),
      says: group.isBeside
        ? `pods that it must be near run there; ${textOf(group)}`
        : textOf(group),
      nodes: group.nodes.sort(compareText),
    }))
    .sort((a, b) => b.nodes.length - a.nodes.length || compareText(a.says, b.says));
}

/** Names of the hosts that have a pod which a required host affinity of these pods selects. */
function hostsBeside(
  { draft }: QueuedPod["podClass"],
  { context: { topology } }: AskedPass,
): ReadonlySet<string> {
  const near = draft.wishes.affinity
    .flatMap((term) => draft.groups.get(term) ?? [])
    .filter(({ key }) => key === HOSTNAME_LABEL_KEY);
  const counted = near.flatMap((group) => topology.counted(group));
  return new Set(counted.flatMap(([host, pods]) => (pods > 0 ? [host] : [])));
}

/**
 * The refusal of the pod after all preferences are dropped. Undefined: the node takes the pod. If the pod has several
 * terms of required node affinity and the node's labels satisfy one of them, the refusal is not about labels.
 */
export function hardRefusal(
  { pod, podClass }: QueuedPod,
  node: ExistingNode,
  { context, classes }: Pick<Pass, "context" | "classes">,
): NodeRefusal | undefined {
  const refusals: NodeRefusal[] = [];
  for (const variant of variantsOf(classes, podClass)) {
    const refusal = node.refusal(new Attempt(context, { pod, podClass, variant }));
    if (refusal === undefined) return undefined;
    refusals.push(refusal);
  }
  const suitable = refusals.filter(({ stage }) => stage !== "requirements" && stage !== "taints");
  return (suitable.length > 0 ? suitable : refusals).at(-1);
}

function groupOf(refusal: NodeRefusal): string {
  switch (refusal.stage) {
    case "resources":
      return `resources ${refusal.resource}`;
    case "topology":
      return `topology ${refusal.rule.group.index}`;
    case "taints":
      return `taints ${formatTaint(refusal.taint)}`;
    case "requirements":
      return `requirements ${formatRequirement(refusal.requirement)}`;
    case "attachSlots":
      return `attachSlots ${refusal.drivers.join(" ")}`;
    case "devices":
      return `devices ${refusal.why}`;
    default:
      return refusal.stage;
  }
}

function textOf({ refusal, mostLeft }: Alike): string {
  switch (refusal.stage) {
    case "resources": {
      const { resource, requested } = refusal;
      const [wanted, left] = [requested, mostLeft].map((one) => formatResource(resource, one));
      return `too little ${resource}: ${wanted} requested, at most ${left} left`;
    }
    case "taints":
      return `the pod does not tolerate the taint ${formatTaint(refusal.taint)}`;
    case "requirements":
      return `their labels do not satisfy ${formatRequirement(refusal.requirement)}`;
    case "volumes":
      return `they cannot reach its volumes, which are at ${refusal.places.join(", or ")}`;
    case "hostPorts":
      return `another pod holds its host port ${refusal.port.port}`;
    case "attachSlots":
      return `no more volumes of ${refusal.drivers.join(", ")} can be attached`;
    case "devices":
      return `devices: ${refusal.why}`;
    case "topology":
      return ruleText(refusal.rule.group);
  }
}

function ruleText({ type, inverse, key }: TopologyGroup): string {
  if (inverse) return `pods that are there keep it away, by their pod anti-affinity over ${key}`;
  return `its ${RULE_NAMES[type]} over ${key} does not allow them now`;
}
