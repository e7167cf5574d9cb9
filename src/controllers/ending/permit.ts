/**
 * The proofs before each irreversible act on a NodeClaim. The claim is read live by UID. The caller says whether its
 * reason still holds. A doubt or the brake postpones the act.
 */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import type { NamedAct } from "../../core/safety/acts.ts";
import { judge } from "../../core/safety/judge.ts";
import { isDeleting, storedClaim } from "../claims.ts";
import type { World } from "../world.ts";
import { keepBrakeCount, recallBrake } from "./brake-memory.ts";
import { commonFacts, type Ended, tellHeld } from "./ended.ts";

export interface ActProof {
  /** Whether the reason still holds for the claim as read from the API server. May read more from there. */
  readonly stillHolds?: (live: NodeClaim) => boolean | Promise<boolean>;
  /** The cloud confirmed by the instance's ID that it has ended. So the brake does not count it. */
  readonly isProvenGone?: boolean;
}

/**
 * The claim as read from the API server, after the brake has counted it; or why the act is not permitted. Rejects if
 * the API server does not answer, so that the caller tries again.
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
