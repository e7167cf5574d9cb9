/** The order of pools: which pool gets a pod that several pools could take. */
import type { Pool } from "../../../apis/hub/pool.ts";

/**
 * The rank of a pool. A pool of higher rank is preferred at any price. A higher weight gives a higher rank. With
 * equal weight a NodePool comes before a Provisioner, so that users who migrate get the NodePool. upstream:
 * pkg/utils/nodepool/nodepool.go (v0.32, where both live side by side)
 */
export function rankOf({ weight, generation }: Pool): number {
  return 2 * weight + (generation === "alpha" ? 0 : 1);
}

/** Orders pools by rank, the highest first. With equal rank the later name comes first, as upstream does. */
export function highestFirst(a: Pool, b: Pool): number {
  return rankOf(b) - rankOf(a) || (a.id > b.id ? -1 : 1);
}
