/**
 * The heart: pods and what there is go in, a plan comes out.
 */

import type { SchedulingResult } from "./result.ts";
import type { SchedulingInput } from "./scheduling-input.ts";

/** Not built yet: names every pod as unschedulable. */
export function solve(input: SchedulingInput): SchedulingResult {
  return {
    newClaims: [],
    existing: [],
    unschedulable: input.pods.map((pod) => ({
      pod,
      message: "planning is not built yet",
      pools: [],
    })),
    excludedByLimits: [],
  };
}
