/**
 * A pool for each namespace that names one: its pods that choose no pool themselves are planned there only. The choice
 * is ours, not the pod's: kube-scheduler may still bind the pod to any node that suits it.
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

/** Prefix of a Provisioner's name. A name without it is a NodePool's. */
const OF_PROVISIONER = "provisioner/";

/** For each spec that got the pool of its namespace: the sentence that says so. */
const saidOf = new WeakMap<PodSpec, string>();

/** Why a pod is kept to one pool that it does not name itself; undefined: it is not. */
export function defaultPoolText(spec: PodSpec): string | undefined {
  return saidOf.get(spec);
}

/** Returns a copy of the pod that requires its namespace's pool; the pod itself where there is none. */
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

/** Equal specs give equal results, so that pods of a template are planned as one class. */
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
      saidOf.set(kept, text);
      return kept;
    });
  };
}

/** Whether its node selector, or a required term of its affinity, is about the pool. */
function namesPool({ nodeSelector = {}, affinity }: PodSpec): boolean {
  const { nodeSelectorTerms = [] } =
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? {};
  const expressions = nodeSelectorTerms.flatMap(({ matchExpressions = [] }) => matchExpressions);
  const keys = [...Object.keys(nodeSelector), ...expressions.map(({ key }) => key)];
  return keys.some((key) => key === NODEPOOL_LABEL_KEY || key === PROVISIONER_NAME_LABEL_KEY);
}
