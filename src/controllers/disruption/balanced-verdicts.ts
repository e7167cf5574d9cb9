/** Events and metrics about the decisions of the consolidation policy Balanced. */
import { describeVerdict } from "../../core/disruption/balanced.ts";
import type { BalancedVerdict, Command } from "../../core/disruption/command.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { poolById } from "../pools.ts";
import type { World } from "../world.ts";
import { approved } from "./events.ts";
import { objectsOf, policyLabel } from "./labels.ts";

/**
 * Events about commands that the policy Balanced approved. They are published on the command's nodes if these exist,
 * else on the pools.
 */
export function approvals(
  world: World,
  { candidates, verdicts = [] }: Command,
): readonly EventToPublish[] {
  return verdicts.flatMap((verdict) => {
    if (verdict.score === undefined) return [];
    const native = poolById(world, verdict.pool.id)?.native;
    const [only, ...others] = candidates.map(objectsOf);
    const objects = others.length === 0 ? (only ?? []) : native === undefined ? [] : [native];
    return approved(objects, describeVerdict(verdict));
  });
}

/** Counts the approved and rejected commands, and observes their scores. */
export function countMoves(world: World, verdicts: readonly BalancedVerdict[]): void {
  for (const { pool, approved: isApproved, score } of verdicts) {
    const labels = {
      decision: isApproved ? "approved" : "rejected",
      nodepool: pool.name,
      policy: policyLabel(pool),
    };
    world.metrics.count("consolidation_moves_total", labels);
    if (score !== undefined) world.metrics.observe("consolidation_score", labels, score);
  }
}
