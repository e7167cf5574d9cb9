/**
 * Default pools: a namespace can name a pool in an annotation. Its pods that select no pool are then planned in this
 * pool only. kube-scheduler does not read the annotation, so it may bind them to any node that fits.
 */
import type { Namespace } from "../../../apis/core/kinds.ts";
import {
  isOwnedByDaemonSet,
  isOwnedByNode,
  type Pod,
  type PodSpec,
} from "../../../apis/core/pod.ts";
import {
  DEFAULT_NODEPOOL_ANNOTATION_KEY,
  NODEPOOL_LABEL_KEY,
  PROVISIONER_NAME_LABEL_KEY,
} from "../../../apis/karpenter/labels.ts";
import { within } from "../../../base/within.ts";
import { requiredTerms } from "../../scheduling/pod-requirements.ts";

/** Prefix of a Provisioner's name in the annotation. A name without the prefix is a NodePool's. */
const OF_PROVISIONER = "provisioner/";

/** For each spec that requires its namespace's pool: a sentence for users that says so. */
const textOf = new WeakMap<PodSpec, string>();

/** A sentence that says which default pool the pod must use and why. Undefined: the pod has no default pool. */
export function defaultPoolText(spec: PodSpec): string | undefined {
  return textOf.get(spec);
}

/** Returns a function that adds the requirement of its namespace's pool to a copy of a pod. */
export function defaultPooler(namespaces: readonly Namespace[]): (pod: Pod) => Pod {
  const choices = new Map(
    namespaces.flatMap(({ metadata: { name, annotations } }) => {
      const value = annotations?.[DEFAULT_NODEPOOL_ANNOTATION_KEY]?.trim() ?? "";
      return value === "" ? [] : [[name, choiceOf(name, value)] as const];
    }),
  );
  if (choices.size === 0) return (pod) => pod;
  return (pod) => {
    const choice = choices.get(pod.metadata.namespace ?? "default");
    if (choice === undefined || isOwnedByDaemonSet(pod) || isOwnedByNode(pod)) return pod;
    return { ...pod, spec: choice(pod.spec) };
  };
}

/** Returns the same object for equal specs, so that pods of one workload are planned as equal pods. */
function choiceOf(namespace: string, value: string): (spec: PodSpec) => PodSpec {
  const isProvisioner = value.startsWith(OF_PROVISIONER);
  const name = isProvisioner ? value.slice(OF_PROVISIONER.length) : value;
  const label = isProvisioner ? PROVISIONER_NAME_LABEL_KEY : NODEPOOL_LABEL_KEY;
  const noun = isProvisioner ? "Provisioner" : "NodePool";
  const text = `namespace ${JSON.stringify(namespace)} keeps its pods to ${noun} ${JSON.stringify(name)} (annotation ${DEFAULT_NODEPOOL_ANNOTATION_KEY})`;
  const known = new WeakMap<PodSpec, PodSpec>();
  return (spec) => {
    if (namesPool(spec)) return spec;
    return within(known, spec, () => {
      const kept = { ...spec, nodeSelector: { ...spec.nodeSelector, [label]: name } };
      textOf.set(kept, text);
      return kept;
    });
  };
}

/** Whether the node selector or a required node affinity term has a label that names the pool. */
function namesPool(spec: PodSpec): boolean {
  const expressions = requiredTerms(spec).flatMap(({ matchExpressions = [] }) => matchExpressions);
  const keys = [...Object.keys(spec.nodeSelector ?? {}), ...expressions.map(({ key }) => key)];
  return keys.some((key) => key === NODEPOOL_LABEL_KEY || key === PROVISIONER_NAME_LABEL_KEY);
}
