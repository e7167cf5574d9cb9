/**
 * Cordons and uncordons a node: by a taint in v1beta1 and v1, by `unschedulable` in v1alpha5. The label that excludes a
 * node from load balancers is set with it.
 * upstream: pkg/controllers/node/termination/terminator/terminator.go, pkg/utils/node
 */
import type { Node, Taint } from "../../apis/core/node.ts";
import type { Vocabulary } from "../../apis/hub/generation.ts";
import {
  EXCLUDE_BALANCERS_LABEL_KEY,
  OTHERS_FIRST_TAINT_KEY,
} from "../../apis/karpenter/labels.ts";

/** The taint of this generation; undefined for v1alpha5. */
export function cordonTaint({ cordon }: Vocabulary): Taint | undefined {
  if (cordon.by === "unschedulable") return undefined;
  return {
    key: cordon.key,
    ...(cordon.value === undefined ? {} : { value: cordon.value }),
    effect: "NoSchedule",
  };
}

/** True if the Node has the taint of its generation for disruption. */
export function isCordoned(node: Node, words: Vocabulary): boolean {
  const taint = cordonTaint(words);
  if (taint === undefined) return node.spec?.unschedulable === true;
  return (node.spec?.taints ?? []).some((one) => equalTaints(one, taint));
}

/** The node before it is terminated: cordoned, and excluded from load balancers. */
export function cordonedForTermination(node: Node, words: Vocabulary): Node {
  const { metadata } = cordoned(node, words);
  const labels = { ...metadata.labels, [EXCLUDE_BALANCERS_LABEL_KEY]: "karpenter" };
  return { ...cordoned(node, words), metadata: { ...metadata, labels } };
}

/** A taint with the same key is replaced, because it may have another value. */
export function cordoned(node: Node, words: Vocabulary): Node {
  if (isCordoned(node, words)) return node;
  const taint = cordonTaint(words);
  if (taint === undefined) return { ...node, spec: { ...node.spec, unschedulable: true } };
  const others = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.key);
  return { ...node, spec: { ...node.spec, taints: [...others, taint] } };
}

/** Undoes {@link cordoned} when a disruption is called off. */
export function uncordoned(node: Node, words: Vocabulary): Node {
  if (!isCordoned(node, words)) return node;
  const taint = cordonTaint(words);
  const { unschedulable: _, ...open } = node.spec ?? {};
  if (taint === undefined) return { ...node, spec: open };
  const taints = (node.spec?.taints ?? []).filter(({ key }) => key !== taint.key);
  return { ...node, spec: { ...node.spec, taints } };
}

const OTHERS_FIRST: Taint = { key: OTHERS_FIRST_TAINT_KEY, effect: "PreferNoSchedule" };

/** Whether the Node has the taint that asks kube-scheduler to try other nodes first. */
export function isPutLast({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(isOthersFirst);
}

/** The Node with or without that taint. */
export function putLast(node: Node, isLast: boolean): Node {
  if (isPutLast(node) === isLast) return node;
  const others = (node.spec?.taints ?? []).filter((taint) => !isOthersFirst(taint));
  return { ...node, spec: { ...node.spec, taints: isLast ? [...others, OTHERS_FIRST] : others } };
}

/**
 * Whether the taint asks kube-scheduler to try other nodes first, for the pods of a command. Planning ignores it,
 * because no pool or person set it.
 */
export function isOthersFirst({ key }: Taint): boolean {
  return key === OTHERS_FIRST_TAINT_KEY;
}

function equalTaints(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect && (a.value ?? "") === (b.value ?? "");
}
