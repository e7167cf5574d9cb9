/**
 * A node that Karpenter owns, with the facts that every answer needs: its claim, its pool, and the numbers by which
 * disruption compares nodes (its candidate).
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { type Candidate, candidateOf } from "../disruption/candidates.ts";
import type { Picture } from "../disruption/make-round.ts";
import type { NodeView } from "../state/node-view.ts";

/** A node that Karpenter owns. `pool` is undefined if the pool no longer exists. */
export interface Owned {
  readonly node: NodeView;
  readonly claim: NodeClaim;
  readonly pool: Pool | undefined;
  /** The node as a candidate for disruption, even if something protects it now. */
  readonly candidate: Candidate | undefined;
}

/** The node with its claim, pool and candidate. Undefined: Karpenter does not own the node. */
export function ownedNode(picture: Picture, node: NodeView): Owned | undefined {
  const { claim } = node;
  if (claim === undefined) return undefined;
  const owner = picture.pools.find(({ pool }) => pool.id === node.poolId);
  const { seats } = picture;
  const candidate = owner === undefined ? undefined : candidateOf(node, claim, { ...owner, seats });
  return { node, claim, pool: owner?.pool, candidate };
}
