/**
 * Whether there may be decisions while claims are not launched. What such a claim will bring is not known, so
 * upstream waits for all of them; a cloud that is slow, or refuses one claim again and again, then holds up
 * everybody. Here the others go on after some seconds, where it is known which pods the late claim was planned
 * for (they are left out) and no limit depends on what it will be.
 */
import { poolIdOfClaim } from "../apis/hub/claim.ts";
import type { NodeClaim } from "../apis/karpenter/nodeclaim.ts";
import { poolById } from "./pools.ts";
import type { World } from "./world.ts";

/** Most launches take less. */
const PATIENCE_MS = 10_000;

/** True if the cluster state is complete, or lacks only claims that may be ignored by now. */
export function mayDecide(world: World): boolean {
  return world.cluster.synced || world.cluster.unlaunched().every((claim) => isKnown(world, claim));
}

function isKnown(world: World, claim: NodeClaim): boolean {
  // Not by its creationTimestamp: that is the hour of another machine, and ours may be set back.
  const promisedMs = world.cluster.promisedAtMs(claim.metadata.name);
  if (promisedMs === undefined || world.clock.elapsedMs() - promisedMs < PATIENCE_MS) return false;
  const pool = poolById(world, poolIdOfClaim(claim) ?? "")?.pool;
  return pool === undefined || Object.keys(pool.limits).length === 0;
}
