/**
 * Carries out a plan: nominates the nodes that pods are planned on, reserves the places of these pods, creates the
 * claims, and publishes events on the pods. A claim that cannot be created does not prevent the others.
 */
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Logger } from "../../base/log.ts";
import { isBufferPod } from "../../core/buffers/pods.ts";
import type { MadeClaim } from "../../core/provisioning/nodes/made-claims.ts";
import type { PlannedClaim, SchedulingResult } from "../../core/provisioning/result.ts";
import { poolFields, some } from "../words.ts";
import type { World } from "../world.ts";
import { createClaims } from "./create-claims.ts";
import { nominated, wouldBeNominated } from "./events.ts";
import { claimTarget, nominationMs, targetsOf } from "./nomination.ts";

/** The created and the failed claims of one plan. */
export interface Applied {
  readonly made: readonly MadeClaim[];
  readonly failed: readonly FailedClaim[];
}

/** A planned claim that could not be created. */
export interface FailedClaim {
  readonly plan: PlannedClaim;
  readonly error: Error;
}

/**
 * Carries out the plan: creates its claims, nominates nodes, publishes events, and remembers which node each pod was
 * planned on.
 */
export async function apply(
  world: World,
  log: Logger,
  { existing, newClaims }: Pick<SchedulingResult, "existing" | "newClaims">,
): Promise<Applied> {
  const nowMs = world.clock.now();
  const untilMs = nowMs + nominationMs(world.settings);
  for (const { nodeName, pods } of existing) {
    const real = pods.filter((pod) => !isBufferPod(pod));
    if (real.length > 0 || pods.length === 0) world.cluster.nominate(nodeName, untilMs);
    world.cluster.place(nodeName, pods, nowMs);
    const targets = targetsOf(world, nodeName);
    for (const pod of real) world.events.publish(nominated(pod, targets));
  }
  if (world.settings.observeOnly) {
    logObserved(world, log, newClaims);
    return { made: [], failed: [] };
  }
  const created = await createClaims(world, log, newClaims, "provisioned");
  const applied = { made: [] as MadeClaim[], failed: [] as FailedClaim[] };
  for (const [index, claim] of created.entries()) {
    const plan = newClaims[index] as PlannedClaim;
    if (claim instanceof Error) {
      log.error(`failed creating ${vocabulary(plan.pool.generation).claimNoun}`, {
        ...poolFields(plan.pool),
        error: claim.message,
      });
      applied.failed.push({ plan, error: claim });
      continue;
    }
    const { name } = claim.metadata;
    applied.made.push({ name, plan });
    world.cluster.nominate(name, untilMs);
    world.cluster.place(name, plan.pods, nowMs);
    world.spans?.planned(claim, plan.pods);
    if (plan.fillsLast === true) world.cluster.placements.fillLast(name);
    world.cluster.promise(name, world.clock.elapsedMs());
    for (const pod of plan.pods)
      if (!isBufferPod(pod)) world.events.publish(nominated(pod, [claimTarget(claim)]));
  }
  return applied;
}

/** Logs which claims would be created and for which pods, for `--observe-only`. */
function logObserved(world: World, log: Logger, planned: readonly PlannedClaim[]): void {
  for (const plan of planned) {
    log.info(`would create ${vocabulary(plan.pool.generation).claimNoun}`, {
      ...poolFields(plan.pool),
      pods: plan.pods.length,
      "instance-types": some(plan.instanceTypes.map(({ name }) => name)),
    });
    world.metrics.count("observed_decisions_total", {
      decision: "create",
      reason: "provisioned",
      nodepool: plan.pool.name,
    });
    for (const pod of plan.pods)
      if (!isBufferPod(pod)) world.events.publish(wouldBeNominated(pod, plan));
  }
}
