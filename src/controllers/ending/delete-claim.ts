/** The one way to delete a NodeClaim. Each act names itself (core/safety/acts.ts) and is proven first (permit.ts). */
import { claimKind } from "../../apis/hub/claim.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type Act, CLAIM_ACTS, type ClaimAct } from "../../core/safety/acts.ts";
import type { World } from "../world.ts";
import { deleteProven } from "./deletions.ts";
import type { Ended } from "./ended.ts";
import { type ActProof, permit } from "./permit.ts";

export interface ClaimProof extends ActProof {
  /** What must be written on the claim before it is deleted. Runs once nothing holds the act. */
  readonly prepare?: (live: NodeClaim) => Promise<unknown>;
}

/**
 * Deletes the claim, or says why not. A claim that is gone, is another one by now or is being deleted already
 * counts as done. Rejects when the API server does not answer, so that the caller tries again.
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
  if (!(await deleteProven(world, claimKind(live), live))) return "gone";
  if (act.braked && proof.isProvenGone !== true)
    world.metrics.count("involuntary_ends_total", { act: name });
  return "ended";
}
