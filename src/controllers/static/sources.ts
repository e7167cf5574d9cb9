/** What causes reconciles of static pools: changes of the pools, their claims and their nodes. */
import { CLAIM_KINDS, poolIdOfClaim } from "../../apis/hub/claim.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { type Source, source } from "../../kube/manager/controller.ts";

const PREFIX = "nodepool/";

/** Watches static NodePools, and their claims and nodes. */
export function staticPoolSources(): readonly Source[] {
  const claims = CLAIM_KINDS.map((kind) =>
    source(kind, (claim) => {
      const id = poolIdOfClaim(claim) ?? "";
      return id.startsWith(PREFIX) ? [{ kind: "NodePool", name: id.slice(PREFIX.length) }] : [];
    }),
  );
  return [source(NODE_POOL), ...claims];
}
