/**
 * The pod of a DaemonSet as it would run on a new node. Planning counts its requests as daemon overhead. Its spec comes
 * from the newest live pod, to which the API server has added defaults, or else from the template. Its
 * affinity, that to pods included, always comes from the template: the node affinity of a live pod names its own node.
 * upstream: pkg/controllers/state/cluster.go (GetDaemonSetPod)
 */
import type { DaemonSet } from "../../apis/apps/kinds.ts";
import type { Pod, PodSpec } from "../../apis/core/pod.ts";
import type { PodAdmission } from "./pod-admission.ts";

/** A DaemonSet and its live pods. */
export interface DaemonFacts {
  readonly daemonSet: DaemonSet;
  readonly livePods: LivePods;
}

/**
 * The live pods of a DaemonSet, one for each node. The newest one is cached, because it is needed after each change.
 */
export class LivePods {
  readonly #byKey = new Map<string, Pod>();
  /** The newest pod. Undefined: it must be found again, or there is none. */
  #newest: Pod | undefined;

  set(key: string, pod: Pod): void {
    const before = this.#byKey.get(key);
    this.#byKey.set(key, pod);
    if (this.#byKey.size === 1) this.#newest = pod;
    else if (before !== undefined && before === this.#newest)
      this.#newest = isNewer(before, pod) ? undefined : pod;
    else if (this.#newest !== undefined && isNewer(pod, this.#newest)) this.#newest = pod;
  }

  /** Removes the pod. Returns whether it was known. */
  delete(key: string): boolean {
    if (this.#byKey.get(key) === this.#newest) this.#newest = undefined;
    return this.#byKey.delete(key);
  }

  newest(): Pod | undefined {
    if (this.#newest !== undefined) return this.#newest;
    for (const pod of this.#byKey.values())
      if (this.#newest === undefined || isNewer(pod, this.#newest)) this.#newest = pod;
    return this.#newest;
  }
}

/**
 * The pod for planning. If there is no live pod, `admission` adds to the template what the API server would add. A live
 * pod may lack the newest recommendation of a VerticalPodAutoscaler, so the recommendation is applied to it, too.
 */
export function daemonPod(facts: DaemonFacts, admission: PodAdmission): Pod {
  const { metadata, spec } = facts.daemonSet;
  const live = facts.livePods.newest();
  const { namespace, name } = metadata;
  const { affinity, ...source } = admission.recommended(
    { namespace, apiVersion: "apps/v1", kind: "DaemonSet", name },
    live?.spec ?? admission.completed(namespace, spec.template.spec),
  );
  const { nodeName: _, ...rest } = source;
  const wanted = spec.template.spec.affinity ?? (live === undefined ? affinity : undefined);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: `${metadata.name}-daemon`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: spec.template.metadata?.labels ?? {},
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "DaemonSet",
          name: metadata.name,
          uid: metadata.uid ?? "",
          controller: true,
        },
      ],
    },
    spec: { ...(rest as PodSpec), ...(wanted === undefined ? {} : { affinity: wanted }) },
  };
}

function isNewer(a: Pod, b: Pod): boolean {
  const [at, bt] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  return at === bt ? a.metadata.name < b.metadata.name : at > bt;
}
