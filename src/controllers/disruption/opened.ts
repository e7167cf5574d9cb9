/**
 * Nodes that a command need not remove any more when their turn comes, minutes after the command began. They are
 * untainted and kept.
 */
import { poolIdOfClaim } from "../../apis/hub/claim.ts";
import { withoutCondition } from "../../apis/karpenter/conditions.ts";
import { errorText } from "../../base/error-text.ts";
import type { Candidate } from "../../core/disruption/candidates.ts";
import { claimAct } from "../../core/safety/acts.ts";
import { changeClaim, isDeleting, storedClaim } from "../claims.ts";
import { tellHeld } from "../ending/ended.ts";
import { stillDrifts } from "../nodeclaim/drift.ts";
import { poolById } from "../pools.ts";
import type { World } from "../world.ts";
import { objectsOf } from "./labels.ts";
import { openedAsRecovered } from "./repairs.ts";
import { leave, type OpeningDeps, openedAsUsed } from "./roll-back.ts";
import type { RunningCommand } from "./running.ts";

/**
 * Untaints the node if the reason of the command is gone, and returns whether it did so: an empty node has pods, a
 * broken one has recovered, a drifted one fits again.
 */
export async function openedAsNeedless(
  deps: OpeningDeps,
  one: Pick<RunningCommand, "record">,
  candidate: Candidate,
): Promise<boolean> {
  switch (one.record.reason) {
    case "Empty":
      return openedAsUsed(deps, one, candidate);
    case "Unhealthy":
      return openedAsRecovered(deps, one, candidate);
    case "Drifted":
      return one.record.isReturn !== true && openedAsFitting(deps, one, candidate);
    default:
      return false;
  }
}

/**
 * Whether the node still differs. Rejects while the cloud does not answer: the node stays tainted and its replacement
 * waits, which an event on the claim and the node says.
 */
async function stillDriftsOrTold(world: World, candidate: Candidate): Promise<boolean> {
  const { claim } = candidate;
  const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
  if (pool === undefined) return true;
  try {
    return await stillDrifts(world, claim, pool);
  } catch (error) {
    const act = claimAct("disrupted");
    const message = `Its replacement is ready, but the cloud does not answer whether the node still drifts: ${errorText(error)}`;
    const doubt = { code: "driftUnanswered", message } as const;
    tellHeld(world, { name: claim.metadata.name, act, doubt }, objectsOf(candidate));
    throw error;
  }
}

/**
 * A NodePool may be changed back, or EC2 may have described something wrongly, while the replacement came up. The
 * replacement stays until consolidation removes it. karpenter-ts only.
 */
async function openedAsFitting(
  deps: OpeningDeps,
  { record }: Pick<RunningCommand, "record">,
  candidate: Candidate,
): Promise<boolean> {
  const { world } = deps;
  const live = await storedClaim(world, candidate.claim);
  if (live === undefined) return false;
  if (live.metadata.uid !== candidate.claim.metadata.uid || isDeleting(live)) return false;
  if (await stillDriftsOrTold(world, { ...candidate, claim: live })) return false;
  // Otherwise the next round would replace the node again, until the drift check asks the cloud again.
  await changeClaim(world, live, (one) => withoutCondition(one, "Drifted"));
  await leave(deps, candidate, { commandId: record.id, cause: "it fits its NodePool again" });
  return true;
}
