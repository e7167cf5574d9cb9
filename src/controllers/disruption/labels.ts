/** Label values of disruption metrics. */

import { parseDuration } from "../../base/duration.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { type Command, decisionOf } from "../../core/disruption/command.ts";

export function commandLabels(command: Command): Record<string, string> {
  return {
    decision: decisionOf(command),
    reason: command.reason.toLowerCase(),
    consolidation_type: command.consolidationType,
  };
}

export function disruptedLabels(command: Command, candidate: Candidate): Record<string, string> {
  const grace = candidate.claim.spec.terminationGracePeriod;
  const forceful = grace !== undefined && (parseDuration(grace) ?? 0) <= 0;
  return {
    reason: command.reason.toLowerCase(),
    nodepool: candidate.pool.name,
    capacity_type: candidate.capacityType,
    // Only consolidation has a policy behind it.
    consolidation_policy:
      command.reason === "Underutilized" ? candidate.pool.disruption.policy : "",
    termination_mode: grace === undefined ? "graceful" : forceful ? "forceful" : "eventual",
  };
}
