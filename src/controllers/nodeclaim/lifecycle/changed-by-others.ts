/**
 * Mends a claim that another program, for example a mutating webhook, changed right after its creation. Labels and
 * owners are put back. While the claim lacks a part of its plan that its pods or its pool need, nothing is launched.
 * Otherwise the node might not suit its pods, and more nodes would be launched for them. The launch timeout deletes
 * such a claim. karpenter-ts only.
 */
import { poolIdOfClaim } from "../../../apis/hub/claim.ts";
import { withCondition } from "../../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../../apis/karpenter/nodeclaim.ts";
import {
  type ClaimPlan,
  changedParts,
  harmfulParts,
  lostOwners,
  withCreatedLabels,
} from "../../../core/state/claim-plans.ts";
import { requeueAfter } from "../../../kube/manager/controller.ts";
import { HELD_RETRY_MS } from "../../ending/ended.ts";
import { poolById, type StoredPool } from "../../pools.ts";
import { claimLog, some } from "../../words.ts";
import type { World } from "../../world.ts";
import { changedByOthers } from "../events.ts";
import { done, type Memory, type StepResult } from "./step.ts";

/**
 * The claim with the labels that it was created with, and with the pool that owns it. If they are removed again, they
 * are put back later each time. On a launched claim only Karpenter's labels are put back.
 */
export function putBack(world: World, claim: NodeClaim, { contestedLabels }: Memory): NodeClaim {
  const plan = world.cluster.plans.of(claim);
  if (plan === undefined) return claim;
  const whole = withCreatedLabels(claim, plan);
  const { uid } = poolOf(world, plan)?.native.metadata ?? {};
  const owners = lostOwners(claim, plan, uid);
  if (whole === claim && owners.length === 0) return claim;
  if (contestedLabels.next(claim).waitMs > 0) return claim;
  const parts = changedParts(claim, plan);
  tell(world, { claim, plan }, parts.length === 0 ? ["ownerReferences"] : parts);
  if (owners.length === 0) return whole;
  const ownerReferences = [...(claim.metadata.ownerReferences ?? []), ...owners];
  return { ...whole, metadata: { ...whole.metadata, ownerReferences } };
}

/** Why the claim is not launched. Undefined: it lacks no part that matters, or another process created it. */
export function heldAsChanged(world: World, claim: NodeClaim): StepResult | undefined {
  const plan = world.cluster.plans.of(claim);
  const parts = plan === undefined ? [] : harmfulParts(claim, plan, poolOf(world, plan)?.pool);
  if (plan === undefined || parts.length === 0) return undefined;
  tell(world, { claim, plan }, parts);
  const message = `another program changed ${some(parts)}`;
  const held = { type: "Launched", status: "Unknown", reason: "ChangedByOthers", message } as const;
  return done(withCondition(claim, held, world.clock.now()), requeueAfter(HELD_RETRY_MS));
}

function poolOf(world: World, { claim }: ClaimPlan): StoredPool | undefined {
  return poolById(world, poolIdOfClaim(claim) ?? "");
}

function tell(
  world: World,
  { claim, plan }: { readonly claim: NodeClaim; readonly plan: ClaimPlan },
  changed: readonly string[],
): void {
  const pool = poolOf(world, plan)?.native;
  const parts = some(changed);
  world.events.publish(...changedByOthers(claim, pool, parts));
  claimLog(world.log, "nodeclaim.lifecycle", claim).warn(
    "another program changed what the claim was created with",
    { parts },
  );
}
