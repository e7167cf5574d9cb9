/**
 * Cordons and uncordons a node, so that it takes no more pods: by a taint in v1beta1 and v1, by `unschedulable` in
 * v1alpha5. Also adds the label that excludes a node from load balancers, and a soft taint that makes kube-scheduler
 * try other nodes first.
 * upstream: pkg/controllers/node/termination/terminator/terminator.go, pkg/utils/node
 */
import type { Node, Taint } from "../../apis/core/node.ts";
import type { Vocabulary } from "../../apis/hub/generation.ts";
import {
  EXCLUDE_BALANCERS_LABEL_KEY,
  OTHERS_FIRST_TAINT_KEY,
} from "../../apis/karpenter/labels.ts";

/** The taint that cordons nodes in this API version. Undefined in v1alpha5. */
export function cordonTaint({ cordon }: Vocabulary): Taint | undefined {
  if (cordon.by === "unschedulable") return undefined;
  return {
    key: cordon.key,
    ...(cordon.value === undefined ? {} : { value: cordon.value }),
    effect: "NoSchedule",
  };
}

/** Whether the Node is cordoned for disruption, in the way of its API version. */
export function isCordoned(node: Node, words: Vocabulary): boolean {
  const taint = cordonTaint(words);
  if (taint === undefined) return node.spec?.unschedulable === true;
  return (node.spec?.taints ?? []).some((one) => equalTaints(one, taint));
}

/** The node as it must be before it is terminated: cordoned, and excluded from load balancers. */
export function cordonedForTermination(node: Node, words: Vocabulary): Node {
  const { metadata } = cordoned(node, words);
  const labels = { ...metadata.labels, [EXCLUDE_BALANCERS_LABEL_KEY]: "karpenter" };
  return { ...cordoned(node, words), metadata: { ...metadata, labels } };
}

/** The node after it is cordoned. A taint with the same key is replaced, because it may have another value. */
export function cordoned(node: Node, words: Vocabulary): Node {
  if (isCordoned(node, words)) return node;
  const taint = cordonTaint(words);
  if (taint === undefined) return { ...node, spec: { ...node.spec, unschedulable: true } };
  const others = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.key);
  return { ...node, spec: { ...node.spec, taints: [...others, taint] } };
}

/** The node after it is uncordoned, because its disruption was cancelled. */
export function uncordoned(node: Node, words: Vocabulary): Node {
  if (!isCordoned(node, words)) return node;
  const taint = cordonTaint(words);
  const { unschedulable: _, ...open } = node.spec ?? {};
  if (taint === undefined) return { ...node, spec: open };
  const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.key);
  return { ...node, spec: { ...node.spec, taints } };
}

const OTHERS_FIRST: Taint = { key: OTHERS_FIRST_TAINT_KEY, effect: "PreferNoSchedule" };

/** Whether the Node has the taint that makes kube-scheduler try other nodes first. */
export function isPutLast({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(isOthersFirst);
}

/** The Node with or without the taint that makes kube-scheduler try other nodes first. */
export function putLast(node: Node, isLast: boolean): Node {
  if (isPutLast(node) === isLast) return node;
  const others = (node.spec?.taints ?? []).filter((taint) => !isOthersFirst(taint));
  return { ...node, spec: { ...node.spec, taints: isLast ? [...others, OTHERS_FIRST] : others } };
}

/**
 * Whether this is the taint that makes kube-scheduler try other nodes first. Karpenter adds it to nodes that should be
 * filled last, for example while the pods of a command move. Planning ignores it, because it keeps no pod off the node.
 */
export function isOthersFirst({ key }: Taint): boolean {
  return key === OTHERS_FIRST_TAINT_KEY;
}

function equalTaints(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");
}
