/**
 * Claims that stay although their deletion was answered, for example because etcd was restored right after it. Their
 * marks in the cluster state are removed. Otherwise no controller would choose them again, and nodes would be planned
 * for their pods.
 */
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { claimRequest, isDeleting, readClaim } from "../claims.ts";
import type { World } from "../world.ts";

/** Milliseconds after which a claim that is not being deleted counts as kept. A watch shows a deletion much sooner. */
const KEPT_MS = 30_000;

/** Looks at the claim after {@link KEPT_MS} and unmarks these names, unless the claim is being deleted. */
export function unmarkIfKept(world: World, claim: NodeClaim, names: readonly string[]): void {
  world.clock.after(KEPT_MS, () => {
    const now = readClaim(world, claimRequest(claim));
    if (now !== undefined && now.metadata.uid === claim.metadata.uid && isDeleting(now)) return;
    // If the claim is gone, its Node may stay with another claim: somebody copied the claim.
    world.cluster.unmarkForDeletion(...names);
  });
}
