/**
 * Pods of a batch that only their names tell apart: of the very same spec and labels, as a mirror holds
 * them for all pods of a template. What planning has to find out before it starts, whether it may look at
 * them and what they are, it finds out once for all of them; of each pod itself it looks at no more than
 * where those parts are.
 */
import type { Pod, PodSpec } from "../../../apis/core/pod.ts";
import { isResized } from "../../../apis/core/pod-resources.ts";
import { within } from "../../../base/within.ts";
import type { Labels } from "../topology/topology-group.ts";

/** `T`: what is found out. */
export class Lookalikes<T> {
  readonly #find: (sample: Pod) => T;
  /** There are fewer labels than specs: those would each need a map of its own. */
  readonly #found = new Map<string | undefined, Map<Labels | undefined, Map<PodSpec, T>>>();
  /** Pods of a template mostly come one after the other. */
  #last: { readonly pod: Pod; readonly found: T } | undefined;

  /** `find` must not look at names, owners and times. */
  constructor(find: (sample: Pod) => T) {
    this.#find = find;
  }

  of(pod: Pod): T {
    const last = this.#last;
    if (last !== undefined && isLike(pod, last.pod)) return last.found;
    const { spec } = pod;
    if (isOfItsOwn(pod)) return this.#find(pod);
    const { namespace, labels } = pod.metadata;
    const byLabels = within(
      this.#found,
      namespace,
      () => new Map<Labels | undefined, Map<PodSpec, T>>(),
    );
    const bySpec = within(byLabels, labels, () => new Map<PodSpec, T>());
    let found = bySpec.get(spec);
    if (found === undefined) {
      found = this.#find(pod);
      bySpec.set(spec, found);
    }
    this.#last = { pod, found };
    return found;
  }
}

function isLike(a: Pod, b: Pod): boolean {
  return (
    a.spec === b.spec &&
    a.metadata.labels === b.metadata.labels &&
    a.metadata.namespace === b.metadata.namespace &&
    !isResized(a)
  );
}

/** Volumes go by the pod's name, and the kubelet holds what it likes for a pod that is being resized. */
function isOfItsOwn(pod: Pod): boolean {
  return (pod.spec.volumes?.length ?? 0) > 0 || isResized(pod);
}
