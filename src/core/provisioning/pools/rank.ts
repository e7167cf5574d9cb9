/** Which pool gets a pod that several could take. */
import type { Pool } from "../../../apis/hub/pool.ts";

/**
 * A pool of a higher rank is preferred, whatever its nodes cost. Weight decides; of pools that are as heavy NodePools come
 * before Provisioners, so that who moves from these to those gets the new ones. upstream:
 * pkg/utils/nodepool/nodepool.go (v0.32, where both live side by side)
 */
export function rankOf({ weight, generation }: Pool): number {
  return 2 * weight + (generation === "alpha" ? 0 : 1);
}

/** By rank; equals by name, the later one first, as upstream does. */
export function highestFirst(a: Pool, b: Pool): number {
  return rankOf(b) - rankOf(a) || (a.id > b.id ? -1 : 1);
}
