/**
 * Finds pods of a batch that differ only in their names. Pods of one template share one spec object and one label
 * object. So pods with the same two objects are equal, and facts about them are computed once.
 */
import type { Pod, PodSpec } from "../../../apis/core/pod.ts";
import { isResized } from "../../../apis/core/pod-resources.ts";
import { hasResourceClaims } from "../../../apis/resource/pod-claims.ts";
import { within } from "../../../base/within.ts";
import type { Labels } from "../topology/topology-group.ts";

/** `T`: the facts that are computed once for each group of equal pods. */
export class Lookalikes<T> {
  readonly #find: (sample: Pod) => T;
  /**
   * Results by namespace, labels and spec. There are fewer label objects than specs, so labels come before specs to
   * have fewer inner maps.
   */
  readonly #found = new Map<string | undefined, Map<Labels | undefined, Map<PodSpec, T>>>();

  /**
   * `find` computes the facts for a group. It must not read the name, the owner or the timestamps of its pod, because
   * the other pods of the group have different ones.
   */
  constructor(find: (sample: Pod) => T) {
    this.#find = find;
  }

  of(pod: Pod): T {
    const { spec } = pod;
    if (isOfItsOwn(pod)) return this.#find(pod);
    const { namespace, labels } = pod.metadata;
    const byLabels = within(
      this.#found,
      namespace,
      () => new Map<Labels | undefined, Map<PodSpec, T>>(),
    );
    const bySpec = within(byLabels, labels, () => new Map<PodSpec, T>());
    return within(bySpec, spec, () => this.#find(pod));
  }
}

/**
 * Whether the pod cannot share a result with other pods. Names of volume claims may contain the pod's name, and a
 * resize or resource claims make its status matter.
 */
function isOfItsOwn(pod: Pod): boolean {
  return (pod.spec.volumes?.length ?? 0) > 0 || isResized(pod) || hasResourceClaims(pod);
}
