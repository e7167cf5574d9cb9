/**
 * A claim that another program changed right after its creation, for example a mutating webhook. Labels and owners are
 * put back. While the claim lacks a part of its plan, nothing is launched: the node might not suit its pods, and
 * others would be bought for them. The launch timeout deletes such a claim. karpenter-ts only.
 */
import { poolIdOfClaim } from "../../../apis/hub/claim.ts";
import { withCondition } from "../../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import {
  asPlanned,
  type ClaimPlan,
  changedParts,
  harmfulParts,
} from "../../../core/state/as-planned.ts";
import { requeueAfter } from "../../../kube/manager/controller.ts";
import { HELD_RETRY_MS } from "../../ending/ended.ts";
import { poolById } from "../../pools.ts";
import { claimLog, some } from "../../words.ts";
import type { World } from "../../world.ts";
import { changedByOthers } from "../events.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/** The claim with the labels and owners that it was created with. If they are removed again, each time later. */
export function putBack(world: World, claim: NodeClaim, { contestedLabels }: Memory): NodeClaim {
  const plan = world.cluster.plans.of(claim);
  const whole = asPlanned(claim, plan);
  if (plan === undefined || whole === claim) return claim;
  if (contestedLabels.next(claim).waitMs > 0) return claim;
  const parts = changedParts(claim, plan);
  tell(world, { claim, plan }, parts.length === 0 ? ["ownerReferences"] : parts);
  return whole;
}

/** Why the claim is not launched. Undefined: it has all parts of its plan, or another process created it. */
export function heldAsChanged(world: World, claim: NodeClaim): StepResult | undefined {
  const plan = world.cluster.plans.of(claim);
  const parts = plan === undefined ? [] : harmfulParts(claim, plan);
  if (plan === undefined || parts.length === 0) return undefined;
  tell(world, { claim, plan }, parts);
  const message = `another program changed ${some(parts)}`;
  const held = { type: "Launched", status: "Unknown", reason: "ChangedByOthers", message } as const;
  return done(withCondition(claim, held, world.clock.now()), requeueAfter(HELD_RETRY_MS));
}

function tell(
  world: World,
  { claim, plan }: { readonly claim: NodeClaim; readonly plan: ClaimPlan },
  changed: readonly string[],
): void {
  const pool = poolById(world, poolIdOfClaim(plan.claim) ?? "")?.native;
  const parts = some(changed);
  world.events.publish(...changedByOthers(claim, pool, parts));
  claimLog(world.log, "nodeclaim.lifecycle", claim).warn(
    "another program changed what the claim was created with",
    { parts },
  );
}
