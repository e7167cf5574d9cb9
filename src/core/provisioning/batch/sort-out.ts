/**
 * Sorts the pods of a batch before planning: which can be planned, and which are equal. Facts about pods that differ
 * only in their names are computed once.
 */
import { maxRunProblem } from "../../../apis/core/max-run.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { vocabulary } from "../../../apis/hub/generation.ts";
import { eachInSteps, type Steps } from "../../../base/steps.ts";
import type { VolumeIndex } from "../../scheduling/volumes.ts";
import type { UnschedulablePod } from "../result.ts";
import type { SchedulingInput } from "../scheduling-input.ts";
import { refusal } from "./eligibility.ts";
import { Lookalikes } from "./lookalikes.ts";
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
  const lookalikes = new Lookalikes(find);
  const batch: BatchPod[] = [];
  const refused: UnschedulablePod[] = [];
  yield* eachInSteps(pods, (pod) => {
    // A default spread depends on the pod's owner, so pods that differ only in their names may have different results.
    const alike = defaultSpread === undefined ? lookalikes.of(pod) : find(pod);
    const message = alike.refusal ?? maxRunProblem(pod);
    if (message === undefined) batch.push({ pod, alike });
    else refused.push({ pod, message, pools: [], ignored: true });
  });
  return { batch, refused };
}
