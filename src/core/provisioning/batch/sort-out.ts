/** Sorts the pods of a batch before planning: which can be planned, and which differ only in their names. */
import { maxRunProblem } from "../../../apis/core/max-run.ts";
import type { Pod, PodSpec } from "../../../apis/core/pod.ts";
import { isResized } from "../../../apis/core/pod-resources.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { hasResourceClaims } from "../../../apis/resource/pod-claims.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import { within } from "../../../base/within.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { UnschedulablePod } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import type { Labels } from "../topology/topology-group.ts";
import { refusal } from "./eligibility.ts";
import type { Draft, PodClass } from "./pod-class.ts";
import { priorityOf } from "./queue.ts";

/** Pods that differ only in their names, and what they have in common. */
export interface Alike {
  readonly sample: Pod;
  /** Why these pods are not planned. Undefined: they are planned. */
  readonly refusal: string | undefined;
  readonly priority: number;
  draft?: Draft;
  podClass?: PodClass;
}

export interface BatchPod {
  readonly pod: Pod;
  readonly alike: Alike;
}

/** The pods that can be planned, and the pods that cannot, each with a reason. */
export function* sortOut(
  input: SchedulingInput,
  volumes: VolumeIndex,
): Steps<{ batch: readonly BatchPod[]; refused: readonly UnschedulablePod[] }> {
  const { pods, pools, options, defaultSpread, devices } = input;
  const { wellKnownLabels } = options;
  const ownerLabels = pools.map(({ pool }) => vocabulary(pool.generation).ownerLabel);
  const known = { volumes, wellKnownLabels, ownerLabels, plansClaims: devices !== undefined };
  const find = (sample: Pod): Alike => ({
    sample,
    refusal: refusal(sample, known),
    priority: priorityOf(sample),
  });
  const equalPods = new EqualPods(find);
  const batch: BatchPod[] = [];
  const refused: UnschedulablePod[] = [];
  yield* eachInSteps(pods, (pod) => {
    // A default spread depends on the pod's owner, so pods that differ only in their names may have different results.
    const alike = defaultSpread === undefined ? equalPods.of(pod) : find(pod);
    const message = alike.refusal ?? maxRunProblem(pod);
    if (message === undefined) batch.push({ pod, alike });
    else refused.push({ pod, message, pools: [], ignored: true });
  });
  return { batch, refused };
}

/**
 * Finds pods that differ only in their names: pods of one template share one spec object and one label object. `T`: the
 * facts that are computed once for each group of equal pods. Exported for tests.
 */
export class EqualPods<T> {
  readonly #find: (sample: Pod) => T;
  /** Results by namespace, labels and spec. There are fewer label objects than specs, so labels come first. */
  readonly #found = new Map<string | undefined, Map<Labels | undefined, Map<PodSpec, T>>>();

  /** `find` must not read the name, the owner or the timestamps of its pod: those of the other pods are different. */
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

/** Whether the pod cannot share a result: names of volume claims may contain its name, and a resize its status. */
function isOfItsOwn(pod: Pod): boolean {
  return (pod.spec.volumes?.length ?? 0) > 0 || isResized(pod) || hasResourceClaims(pod);
}
