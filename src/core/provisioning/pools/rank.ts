/** The order of pools. It decides which pool gets a pod that several pools could take. */
import type { Pool } from "../../../apis/hub/pool.ts";

/**
 * The rank of a pool: a pool of higher rank is preferred at any price. A higher weight gives a higher rank. At equal
 * weight, a NodePool is preferred to a Provisioner, so users who migrate get the NodePool.
 * upstream: pkg/utils/nodepool/nodepool.go (v0.32, which has both kinds)
 */
export function rankOf({ weight, generation }: Pool): number {
  return 2 * weight + (generation === "alpha" ? 0 : 1);
}

/** Sorts pools by rank, the highest first. At equal rank, the later name comes first, as in upstream. */
export function highestFirst(a: Pool, b: Pool): number {
  return rankOf(b) - rankOf(a) || (a.id > b.id ? -1 : 1);
}
