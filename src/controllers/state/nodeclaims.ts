/**
 * `state.nodeclaim`: updates the cluster state with NodeClaims and Machines, both in their v1 form. Claims of other
 * providers' classes are left out, so that no decision waits for their launch.
 */
import { CLAIM_KINDS, toClaim } from "../../apis/hub/claim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import { isManagedClaim } from "../claims.ts";
import type { World } from "../world.ts";
import { fed, feeder } from "./feeder.ts";

/** The controller that updates the cluster state with NodeClaims and Machines. */
export function stateNodeClaim(world: World): Controller {
  const { cluster } = world;
  const feeds = CLAIM_KINDS.map((kind) =>
    fed({
      kind: kind as Kind,
      put: (native) => {
        const claim = toClaim(native);
        if (isManagedClaim(world, claim)) cluster.updateClaim(claim);
      },
      remove: (claim) => cluster.deleteClaim(claim.metadata.name, kind.kind),
    }),
  );
  return feeder("state.nodeclaim", feeds);
}
