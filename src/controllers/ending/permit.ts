/**
 * The checks before each irreversible deletion of a NodeClaim. The claim is read from the API server by UID, and the
 * caller checks whether its reason still applies. A doubt or the brake postpones the deletion.
 */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NamedAct } from "../../core/safety/acts.ts";
import { judge } from "../../core/safety/judge.ts";
import { isDeleting, storedClaim } from "../claims.ts";
import type { World } from "../world.ts";
import { keepBrakeCount, recallBrake } from "./brake-memory.ts";
import { commonFacts, type Ended, tellHeld } from "./ended.ts";

export interface ActProof {
  /** Whether the reason still applies to the claim as read from the API server. May read more from there. */
  readonly stillHolds?: (live: NodeClaim) => boolean | Promise<boolean>;
  /**
   * Whether the cloud has confirmed by id that the instance is terminated. If so, the brake does not count the
   * deletion.
   */
  readonly isProvenGone?: boolean;
}

/**
 * Checks whether the claim may be deleted. Returns the claim as read from the API server, or why it must not be
 * deleted. If it may be deleted, the brake has counted the deletion, but only of a braked act and of an instance that
 * is not proven gone. Rejects if the API server does not answer, so that the caller tries again.
 */
export async function permit(
  world: World,
  claim: NodeClaim,
  { act, stillHolds = () => true, isProvenGone = false }: ActProof & { readonly act: NamedAct },
): Promise<NodeClaim | Exclude<Ended, "ended">> {
  const live = await storedClaim(world, claim);
  if (live === undefined || live.metadata.uid !== claim.metadata.uid || isDeleting(live))
    return "gone";
  if (!(await stillHolds(live))) return "changed";
  const isCounted = act.braked && !isProvenGone;
  if (isCounted) await recallBrake(world);
  const facts = { ...commonFacts(world, act, live), isProvenGone };
  const verdict = judge(act, facts, world.brake);
  if (!verdict.go) return tellHeld(world, { name: facts.name, act, doubt: verdict.doubt }, [live]);
  if (isCounted) await keepBrakeCount(world);
  return live;
}
