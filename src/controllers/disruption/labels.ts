/** Label values of disruption metrics, and the objects that an event about a candidate is published on. */

import type { Pool } from "../../apis/hub/pool.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { parseDuration } from "../../base/duration.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { type Command, type Decision, decisionOf } from "../../core/disruption/command.ts";
import type { CommandRecord } from "../../core/disruption/record.ts";
import type { World } from "../world.ts";

/** Metric labels of a command. */
export function commandLabels(record: CommandRecord): Record<string, string> {
  return {
    decision: recordedDecision(record),
    reason: record.reason.toLowerCase(),
    consolidation_type: record.consolidationType,
  };
}

/** What a running command does with its nodes, as its record says: delete them, or replace them. */
export function recordedDecision({ replacements }: CommandRecord): Decision {
  return replacements === 0 ? "delete" : "replace";
}

/** The consolidation policy of the pool as a metric label, such as `when_empty_or_underutilized`. */
export function policyLabel({ disruption }: Pool): string {
  return disruption.policy.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

/**
 * Metric labels of one disrupted node. For a repair the command limits how long the drain takes, else the claim does.
 */
export function disruptedLabels(
  { reason, graceMs }: Pick<CommandRecord, "reason" | "graceMs">,
  candidate: Candidate,
): Record<string, string> {
  const grace = candidate.claim.spec.terminationGracePeriod;
  const own = grace === undefined ? undefined : (parseDuration(grace) ?? 0);
  return {
    reason: reason.toLowerCase(),
    nodepool: candidate.pool.name,
    capacity_type: candidate.capacityType,
    // Only consolidation has a policy.
    consolidation_policy: reason === "Underutilized" ? policyLabel(candidate.pool) : "",
    termination_mode: terminationModeOf(graceMs ?? own),
  };
}

/** The value of `termination_mode` for a drain. `graceMs`: its time limit; undefined: it has none. */
export function terminationModeOf(
  graceMs: number | undefined,
): "graceful" | "forceful" | "eventual" {
  if (graceMs === undefined) return "graceful";
  return graceMs <= 0 ? "forceful" : "eventual";
}

/** The objects that an event about a candidate is published on: its Node, if there is one, and its claim. */
export function objectsOf({
  node,
  claim,
}: Pick<Candidate, "node" | "claim">): readonly KubeObject[] {
  return node.node === undefined ? [claim] : [node.node, claim];
}

/** Counts a command once for the cluster, and once for each of its NodePools. */
export function countDecision(world: World, command: Command, record: CommandRecord): void {
  const { candidates } = command;
  const labels = { ...commandLabels(record), decision: decisionOf(command) };
  world.metrics.count("voluntary_disruption_decisions_total", labels);
  for (const nodepool of new Set(candidates.map(({ pool }) => pool.name)))
    world.metrics.count("voluntary_disruption_decisions_by_nodepool_total", {
      nodepool,
      ...labels,
    });
  const { reason, terminateFirst } = command;
  if (terminateFirst === undefined) return;
  for (const { pool } of candidates)
    world.metrics.count("voluntary_disruption_terminate_first_decisions_total", {
      nodepool: pool.name,
      reason: reason.toLowerCase(),
      terminate_first_reason: terminateFirst,
    });
}
