/** Writes the result of a planning pass on each CapacityBuffer. */
import { CAPACITY_BUFFER } from "../../apis/autoscaling/capacity-buffer.ts";
import { withLoneCondition } from "../../apis/karpenter/conditions.ts";
import { errorText } from "../../base/error-text.ts";
import type { Logger } from "../../base/log.ts";
import { provisioningConditions } from "../../core/buffers/feedback.ts";
import type { SchedulingResult } from "../../core/provisioning/result.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { capacityBuffers } from "../mirrors.ts";
import type { World } from "../world.ts";

/**
 * Writes the result on all buffers. If one write fails, the others go on. The next pass half a minute later writes it
 * again.
 */
export async function tellBuffers(
  world: World,
  log: Logger,
  result: SchedulingResult,
): Promise<void> {
  for (const [key, change] of provisioningConditions(result)) {
    const buffer = capacityBuffers(world).get(key);
    if (buffer === undefined) continue;
    const after = withLoneCondition(buffer, change, world.clock.now());
    if (after === buffer) continue;
    try {
      await patchObject(world.kube, CAPACITY_BUFFER, buffer, after);
    } catch (error) {
      log.debug("failed writing the condition of a capacity buffer", {
        CapacityBuffer: key,
        error: errorText(error),
      });
    }
  }
}
