/** Where the controller keeps room for CapacityBuffers: their pods are planned onto the existing nodes. */
import type { Steps } from "../../base/steps.ts";
import { keptRoomIn } from "../../core/answers/kept-room.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import { planBatchInSteps } from "../../core/planner/plan-batch.ts";
import type { PlannerOptions } from "../../core/planner/planner-options.ts";
import { realPodsFirst } from "../../core/planner/real-pods-first.ts";
import type { PlanningInput } from "../plan/planning-input.ts";

/** Key of a buffer's pod → name of the node that keeps room for it. */
export function* keptRoomInSteps(
  { input }: Pick<PlanningInput, "input">,
  options: PlannerOptions,
): Steps<ReturnType<typeof keptRoomIn>> {
  if (!input.pods.some(isBufferPod)) return new Map();
  const onNodes = { ...input, pools: [] };
  const { existing } = yield* realPodsFirst(input.pods, (pods) =>
    planBatchInSteps({ ...onNodes, pods }, options),
  );
  return keptRoomIn(existing);
}
