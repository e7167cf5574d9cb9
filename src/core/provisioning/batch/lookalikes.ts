/**
 * Finds pods of a batch that differ only in their names. The mirror keeps one spec object and one label object for
 * all pods of a template, so equal pods share these objects. What planning must know before it starts is computed
 * once for them.
 */
import type { Pod, PodSpec } from "../../../apis/core/pod.ts";
import { isResized } from "../../../apis/core/pod-resources.ts";
import { hasResourceClaims } from "../../../apis/resource/pod-claims.ts";
import { within } from "../../../base/within.ts";
import type { Labels } from "../topology/topology-group.ts";

/** `T`: what is computed for each group of equal pods. */
export class Lookalikes<T> {
  readonly #find: (sample: Pod) => T;
  /** Keyed by labels first: there are fewer label objects than specs, so fewer inner maps. */
  readonly #found = new Map<string | undefined, Map<Labels | undefined, Map<PodSpec, T>>>();
  /** The last answer. Pods of a template mostly follow each other. */
  #last: { readonly pod: Pod; readonly found: T } | undefined;

  /** `find` must not read names, owners or times of the pod. */
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
    const found = within(bySpec, spec, () => this.#find(pod));
    this.#last = { pod, found };
    return found;
  }
}

function isLike(a: Pod, b: Pod): boolean {
  return (
    a.spec === b.spec &&
    a.metadata.labels === b.metadata.labels &&
    a.metadata.namespace === b.metadata.namespace &&
    !isResized(a) &&
    !hasResourceClaims(a)
  );
}

/**
 * Whether the pod cannot share a result with others: its volume claims contain its name, a resize changed its own
 * status, or its resource claims are named in its status.
 */
function isOfItsOwn(pod: Pod): boolean {
  return (pod.spec.volumes?.length ?? 0) > 0 || isResized(pod) || hasResourceClaims(pod);
}
