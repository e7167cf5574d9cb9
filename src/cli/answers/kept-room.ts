/** Where the controller keeps room for CapacityBuffers: their pods are planned onto the existing nodes. */
import { atOnce } from "../../base/steps.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import { type RoomKept, roomAmong } from "../../core/buffers/room.ts";
import { planBatchInSteps } from "../../core/planner/plan-batch.ts";
import type { PlannerOptions } from "../../core/planner/planner-options.ts";
import { realPodsFirst } from "../../core/planner/real-pods-first.ts";
import type { PlanningInput } from "../plan/planning-input.ts";

/** Gives the pods of buffers their seats. Returns the kept room by node name, for nodes that have any. */
export function keptRoom(
  { input, seats }: Pick<PlanningInput, "input" | "seats">,
  options: PlannerOptions,
): ReadonlyMap<string, readonly RoomKept[]> {
  if (!input.pods.some(isBufferPod)) return new Map();
  const onNodes = { ...input, pools: [] };
  const { existing } = atOnce(
    realPodsFirst(input.pods, (pods) => planBatchInSteps({ ...onNodes, pods }, options)),
  );
  const claims = new Map(input.nodes.map(({ name, claim }) => [name, claim?.metadata.name]));
  const kept = new Map<string, readonly RoomKept[]>();
  for (const { nodeName, pods } of existing) {
    const own = pods.filter(isBufferPod);
    if (own.length === 0) continue;
    seats.plan(claims.get(nodeName) ?? nodeName, own, input.nowMs);
    kept.set(nodeName, roomAmong(own));
  }
  return kept;
}
