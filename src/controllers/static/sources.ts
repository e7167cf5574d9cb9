/** What wakes the controllers of static pools: the pools, and claims of theirs that come and go. */
import { CLAIM_KINDS, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { type Source, source } from "../../kube/manager/controller.ts";

const PREFIX = "nodepool/";

/** Wakes for static NodePools, and for claims and nodes of them. */
export function staticPoolSources(): readonly Source[] {
  const claims = CLAIM_KINDS.map((kind) =>
    source(kind, (claim) => {
      const id = poolIdOfClaim(claim) ?? "";
      return id.startsWith(PREFIX) ? [{ kind: "NodePool", name: id.slice(PREFIX.length) }] : [];
    }),
  );
  return [source(NODE_POOL), ...claims];
}
