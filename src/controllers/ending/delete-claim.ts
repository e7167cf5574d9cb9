/**
 * The only function that deletes a NodeClaim. Each deletion names its reason (core/safety/acts.ts), and permit.ts first
 * checks that it may happen.
 */
import { claimKind } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type Act, CLAIM_ACTS, type ClaimAct } from "../../core/safety/acts.ts";
import type { World } from "../world.ts";
import { deleteProven } from "./deletions.ts";
import { type Ended, tellHeld } from "./ended.ts";
import { type ActProof, permit } from "./permit.ts";

export interface ClaimProof extends ActProof {
  /** Writes what must be on the claim before its deletion. Runs once the deletion is permitted. */
  readonly prepare?: (live: NodeClaim) => Promise<unknown>;
}

/**
 * Deletes the claim, or returns why it was not deleted. A claim that is gone, was replaced, or is already being deleted
 * counts as done. Rejects if the API server does not answer, so that the caller tries again.
 */
export async function deleteClaim(
  world: World,
  claim: NodeClaim,
  name: ClaimAct,
  { prepare, ...proof }: ClaimProof = {},
): Promise<Ended> {
  const act: Act = CLAIM_ACTS[name];
  const live = await permit(world, claim, { ...proof, act: { ...act, name } });
  if (typeof live === "string") return live;
  await prepare?.(live);
  const begun = await deleteProven(world, claimKind(live), live);
  if (begun === "gone") return "gone";
  if (begun !== "begun")
    return tellHeld(world, { name: live.metadata.name, act: { ...act, name }, doubt: begun }, [
      live,
    ]);
  if (act.braked && proof.isProvenGone !== true)
    world.metrics.count("involuntary_ends_total", { act: name });
  return "ended";
}
