/**
 * The one way to delete a NodeClaim. Each act names itself (core/safety/acts.ts); the claim is read live by UID,
 * whoever deletes it says whether the reason still holds, and a doubt puts the act off.
 */
import { claimKind } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type Act, CLAIM_ACTS, type ClaimAct } from "../../core/safety/acts.ts";
import { judge } from "../../core/safety/judge.ts";
import { deleteSame } from "../../kube/client/delete-same.ts";
import { isDeleting, storedClaim } from "../claims.ts";
import type { World } from "../world.ts";
import { keepBrakeCount, recallBrake } from "./brake-memory.ts";
import { commonFacts, type Ended, tellHeld } from "./ended.ts";

export interface ClaimProof {
  /** Whether the reason still holds for the claim as the API server has it now; may read more, live. */
  readonly stillHolds?: (live: NodeClaim) => boolean | Promise<boolean>;
  /** What must be written on the claim before it is deleted. Runs once nothing holds the act. */
  readonly prepare?: (live: NodeClaim) => Promise<void>;
  /** The cloud, asked by the instance's ID, names it as ended. */
  readonly isProvenGone?: boolean;
}

/**
 * Deletes the claim, or says why not. A claim that is gone, is another one by now or is being deleted already
 * counts as done. Rejects when the API server does not answer, so that the caller tries again.
 */
export async function deleteClaim(
  world: World,
  claim: NodeClaim,
  name: ClaimAct,
  { stillHolds = () => true, prepare, isProvenGone = false }: ClaimProof = {},
): Promise<Ended> {
  const act: Act = CLAIM_ACTS[name];
  const live = await storedClaim(world, claim);
  if (live === undefined || live.metadata.uid !== claim.metadata.uid || isDeleting(live))
    return "gone";
  if (!(await stillHolds(live))) return "changed";
  const isCounted = act.braked && !isProvenGone;
  if (isCounted) await recallBrake(world);
  const facts = { ...commonFacts(world, act, live), isProvenGone };
  const verdict = judge(act, facts, world.brake);
  if (!verdict.go) {
    const held = { name: facts.name, act: { ...act, name }, doubt: verdict.doubt };
    return tellHeld(world, held, [live]);
  }
  if (isCounted) await keepBrakeCount(world);
  await prepare?.(live);
  if (!(await deleteSame(world.kube, claimKind(live), live))) return "gone";
  if (isCounted) world.metrics.count("involuntary_ends_total", { act: name });
  return "ended";
}
