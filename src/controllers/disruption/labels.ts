/** Label values of disruption metrics, and which objects an event about a candidate is about. */

import type { Pool } from "../../apis/hub/pool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import type { Command, CommandReason, Decision } from "../../core/disruption/command.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";
import type { World } from "../world.ts";

export function commandLabels(record: CommandRecord): Record<string, string> {
  return {
    decision: recordedDecision(record),
    reason: record.reason.toLowerCase(),
    consolidation_type: record.consolidationType,
  };
}

export function recordedDecision({ replacements }: CommandRecord): Decision {
  return replacements === 0 ? "delete" : "replace";
}

/** `when_empty_or_underutilized`. */
export function policyLabel({ disruption }: Pool): string {
  return disruption.policy.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

export function disruptedLabels(
  reason: CommandReason,
  candidate: Candidate,
): Record<string, string> {
  const grace = candidate.claim.spec.terminationGracePeriod;
  const forceful = grace !== undefined && (parseDuration(grace) ?? 0) <= 0;
  return {
    reason: reason.toLowerCase(),
    nodepool: candidate.pool.name,
    capacity_type: candidate.capacityType,
    // Only consolidation has a policy behind it.
    consolidation_policy: reason === "Underutilized" ? policyLabel(candidate.pool) : "",
    termination_mode: grace === undefined ? "graceful" : forceful ? "forceful" : "eventual",
  };
}

/** What an event about a candidate is about. */
export function objectsOf({
  node,
  claim,
}: Pick<Candidate, "node" | "claim">): readonly KubeObject[] {
  return node.node === undefined ? [claim] : [node.node, claim];
}

/** Counts a command once, and once for each NodePool that it is about. */
export function countDecision(world: World, { candidates }: Command, record: CommandRecord): void {
  const labels = commandLabels(record);
  world.metrics.count("voluntary_disruption_decisions_total", labels);
  for (const nodepool of new Set(candidates.map(({ pool }) => pool.name)))
    world.metrics.count("voluntary_disruption_decisions_by_nodepool_total", {
      nodepool,
      ...labels,
    });
}
