/** `state.nodeclaim`: NodeClaims and Machines into our picture, in hub shape. */
import { CLAIM_KINDS, toClaim } from "../../apis/hub/claim.ts";
import type { Kind } from "../../apis/meta.ts";
import type { Controller } from "../../kube/controller.ts";
import type { World } from "../world.ts";
import { fed, feeder } from "./feeder.ts";

export function stateNodeClaim({ cluster }: World): Controller {
  const feeds = CLAIM_KINDS.map((kind) =>
    fed({
      kind: kind as Kind,
      put: (claim) => cluster.updateClaim(toClaim(claim)),
      remove: (claim) => cluster.deleteClaim(claim.metadata.name, kind.kind),
    }),
  );
  return feeder("state.nodeclaim", feeds);
}
