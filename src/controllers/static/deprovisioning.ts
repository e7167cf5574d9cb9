/**
 * Deletes the nodes that a static pool has beyond its `replicas`. Budgets do not apply, because a person has scaled the
 * pool down. The drain still respects PodDisruptionBudgets. Needs the feature gate StaticCapacity.
 * upstream: pkg/controllers/static/deprovisioning/controller.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { countStatic, surplus } from "../../core/disruption/static-pools.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { claimRequest, readClaim } from "../claims.ts";
import { deleteClaim } from "../ending/delete-claim.ts";
import { unmarkIfKept } from "../ending/kept-claim.ts";
import { isManagedPool, livePool, readPool, type StoredPool } from "../pools.ts";
import { claimFields, poolFields } from "../words.ts";
import type { World } from "../world.ts";
import { staticPoolSources } from "./sources.ts";

const POLL_MS = 60_000;
const UNSYNCED_RETRY_MS = 1_000;

/** The controller that deletes claims of a static NodePool beyond its replicas. */
export function staticDeprovisioning(world: World): Controller {
  return {
    name: "static.deprovisioning",
    watches: staticPoolSources(),
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  const pool = stored?.pool;
  if (stored === undefined || pool?.replicas === undefined || pool.deleting) return AWAIT_CHANGE;
  if (!isManagedPool(world, pool)) return AWAIT_CHANGE;
  if (!world.cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  const chosen = surplus(pool, countStatic(pool, world.cluster.nodes()), world.clock.now());
  const asksForLess = chosen.length === 0 ? false : await stillAsksForLess(world, stored, pool);
  const log = world.log.with({ controller: "static.deprovisioning", ...poolFields(pool) });
  const done = await Promise.allSettled(
    chosen.map(async ({ claim }) => {
      if (claim === undefined) return;
      const stillHolds = () => asksForLess;
      if ((await deleteClaim(world, claim, "staticScaleDown", { stillHolds })) !== "ended") return;
      // The node is marked once its deletion has succeeded, so that the next reconcile counts it as deleted. If the
      // claim is already gone, the node is not marked, because nothing would remove the mark.
      if (readClaim(world, claimRequest(claim)) !== undefined) markUntilKept(world, claim);
      log.info("deleting nodeclaim, more nodes than replicas", claimFields(claim));
    }),
  );
  const failed = done.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return requeueAfter(POLL_MS);
}

/** Marks the claim. If it stays all the same, it is chosen again. */
function markUntilKept(world: World, claim: NodeClaim): void {
  const { name } = claim.metadata;
  world.cluster.markForDeletion(name);
  unmarkIfKept(world, claim, [name]);
}

/** Whether the pool, as read from the API server, still has no more replicas than this reconcile assumes. */
async function stillAsksForLess(world: World, stored: StoredPool, pool: Pool): Promise<boolean> {
  const replicas = (await livePool(world, stored))?.replicas;
  return replicas !== undefined && replicas <= (pool.replicas ?? 0);
}
