/**
 * The first look at a batch: which of its pods planning may look at, and which of them are alike. What is
 * found out about pods that only their names tell apart is found out once.
 */
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

/** A few milliseconds at most. */
export const PODS_PER_STEP = 1_024;

/** Pods that only their names tell apart, and what is found out about them. */
export interface Alike {
  readonly sample: Pod;
  /** Why planning does not look at them. */
  readonly refusal: string | undefined;
  readonly priority: number;
  draft?: Draft;
  podClass?: PodClass;
}

export interface BatchPod {
  readonly pod: Pod;
  readonly alike: Alike;
}

/** Those that may be planned for, and those that may not, each with a reason. */
export function* sortOut(
  input: SchedulingInput,
  volumes: VolumeIndex,
): Steps<{ batch: readonly BatchPod[]; refused: readonly UnschedulablePod[] }> {
  const { pods, pools, options, defaultSpread } = input;
  const ownerLabels = pools.map(({ pool }) => vocabulary(pool.generation).ownerLabel);
  const find = (sample: Pod): Alike => ({
    sample,
    refusal: refusal(sample, volumes, options.wellKnownLabels, ownerLabels),
    priority: priorityOf(sample),
  });
  const lookalikes = new Lookalikes(find);
  const batch: BatchPod[] = [];
  const refused: UnschedulablePod[] = [];
  yield* eachInSteps(pods, PODS_PER_STEP, (pod) => {
    // A default spread goes by the pod's owner.
    const alike = defaultSpread === undefined ? lookalikes.of(pod) : find(pod);
    if (alike.refusal === undefined) batch.push({ pod, alike });
    else refused.push({ pod, message: alike.refusal, pools: [], ignored: true });
  });
  return { batch, refused };
}
