/**
 * Applies recommendations of VerticalPodAutoscalers to pods that do not exist yet: pods of DaemonSets on new nodes, and
 * successors of pods on removed nodes. Upstream reads the same objects but does not use them
 * (pkg/controllers/state/informer/vpa.go).
 */
import {
  changesNewPods,
  type VerticalPodAutoscaler,
  withRecommendation,
} from "../../apis/autoscaling/vertical-pod-autoscaler.ts";
import type { Pod, PodSpec } from "../../apis/core/pod.ts";
import { controllerOf, createdAtMs } from "../../apis/meta.ts";
import { deepFreeze } from "../../base/json.ts";
import { within } from "../../base/within.ts";

/** A workload that a VerticalPodAutoscaler may target. */
export interface PodMaker {
  readonly namespace: string | undefined;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

const TEMPLATE_HASH = "pod-template-hash";

/** The recommendations of a list of VerticalPodAutoscalers. */
export class Recommendations {
  readonly #byTarget = new Map<string, VerticalPodAutoscaler>();
  /** Cached results by list of containers. Pods of one template share the list, so they share the result, too. */
  readonly #known = new Map<
    VerticalPodAutoscaler,
    WeakMap<PodSpec["containers"], PodSpec["containers"]>
  >();

  /** If several autoscalers target one workload, the oldest one counts; among equally old ones, the first by name. */
  constructor(autoscalers: readonly VerticalPodAutoscaler[]) {
    for (const one of autoscalers) {
      const { targetRef } = one.spec ?? {};
      if (targetRef === undefined || !changesNewPods(one)) continue;
      const { apiVersion = "", kind, name } = targetRef;
      const key = keyOf({ namespace: one.metadata.namespace, apiVersion, kind, name });
      const known = this.#byTarget.get(key);
      if (known === undefined || isStronger(one, known)) this.#byTarget.set(key, one);
    }
  }

  /** The spec with the requests that are recommended for the workload. Without a recommendation, `spec` itself. */
  completed(workload: PodMaker, spec: PodSpec): PodSpec {
    const autoscaler = this.#byTarget.get(keyOf(workload));
    if (autoscaler === undefined) return spec;
    const known = within(this.#known, autoscaler, () => new WeakMap());
    const containers = within(known, spec.containers, () =>
      deepFreeze(spec.containers.map((one) => withRecommendation(one, autoscaler))),
    );
    return Object.freeze({ ...spec, containers });
  }

  /**
   * The pod as its owner would create it again if its node were removed. A pending pod is returned unchanged: it has
   * been created with its requests already.
   */
  successor(pod: Pod): Pod {
    if (this.#byTarget.size === 0 || !pod.spec.nodeName) return pod;
    const workload = workloadOf(pod);
    const spec = workload === undefined ? pod.spec : this.completed(workload, pod.spec);
    if (spec === pod.spec) return pod;
    // The new pod does not get the resources that the kubelet has allocated to the old one, so the status is dropped.
    const { status: _, ...rest } = pod;
    return { ...rest, spec };
  }
}

/**
 * The workload of the pod, derived from its owner: a ReplicaSet whose name ends in the pod's template hash belongs to a
 * Deployment. Undefined: the pod has no owner.
 */
export function workloadOf(pod: Pod): PodMaker | undefined {
  const owner = controllerOf(pod);
  if (owner === undefined) return undefined;
  const { namespace, labels = {} } = pod.metadata;
  const { apiVersion, kind, name } = owner;
  const suffix = `-${labels[TEMPLATE_HASH] ?? ""}`;
  const isOfDeployment = kind === "ReplicaSet" && suffix !== "-" && name.endsWith(suffix);
  return isOfDeployment
    ? { namespace, apiVersion, kind: "Deployment", name: name.slice(0, -suffix.length) }
    : { namespace, apiVersion, kind, name };
}

function keyOf({ namespace = "default", apiVersion, kind, name }: PodMaker): string {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return `${namespace}/${group}/${kind}/${name}`;
}

function isStronger(a: VerticalPodAutoscaler, b: VerticalPodAutoscaler): boolean {
  const [at, bt] = [createdAtMs(a), createdAtMs(b)];
  return at === bt ? a.metadata.name < b.metadata.name : at < bt;
}
