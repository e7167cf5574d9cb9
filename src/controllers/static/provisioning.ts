/**
 * Creates claims for nodes that a static pool lacks to reach its `replicas`. Needs the feature gate StaticCapacity.
 * upstream: pkg/controllers/static/provisioning/controller.go
 */
import { vocabulary } from "../../apis/hub/generation.ts";
import type { Pool } from "../../apis/hub/pool.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { countStatic, missing } from "../../core/disruption/static-pools.ts";
import { planStaticNodes } from "../../core/provisioning/static-nodes.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { asksTheSame, isManagedPool, readPool } from "../pools.ts";
import { createClaims } from "../provisioning/create-claims.ts";
import { poolInput, schedulingInput } from "../provisioning/gather.ts";
import { poolFields } from "../words.ts";
import type { World } from "../world.ts";
import { nodesMissing } from "./events.ts";
import { staticPoolSources } from "./sources.ts";

const POLL_MS = 60_000;
const LIMITED_MS = 30_000;
const UNSYNCED_RETRY_MS = 1_000;

/** The controller that creates claims of a static NodePool up to its replicas. */
export function staticProvisioning(world: World): Controller {
  return {
    name: "static.provisioning",
    watches: staticPoolSources(),
    concurrency: 10,
    reconcile: (request) => reconcile(world, request, "first"),
  };
}

/**
 * Which attempt it is. If a pool is edited while its nodes are planned, they are planned again, but only once.
 * Otherwise a pool that is edited all the time would never get nodes. Claims of the second plan have the pool's hash at
 * that time, so they drift if the pool has changed since.
 */
type Try = "first" | "second";

async function reconcile(world: World, request: Request, which: Try): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined) return AWAIT_CHANGE;
  const { pool } = stored;
  if (pool.replicas === undefined || !isManagedPool(world, pool)) return AWAIT_CHANGE;
  if (pool.deleting || !pool.ready) return AWAIT_CHANGE;
  if (!world.cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  const log = world.log.with({ controller: "static.provisioning", ...poolFields(pool) });
  const { count, limited } = lacking(world, pool);
  if (limited) log.info("nodepool node limit reached");
  if (count === 0) return requeueAfter(limited ? LIMITED_MS : POLL_MS);
  const input = await poolInput(world, pool, log);
  if (typeof input === "string") return requeueAfter(LIMITED_MS);
  const planning = planStaticNodes(schedulingInput(world, [], [input]), input, count);
  const { newClaims: plans, lacks } = await inTurns(world.clock, planning, TURN_MS);
  const now = readPool(world, request);
  // The next change of the pool causes a reconcile.
  if (now?.pool.ready !== true || now.pool.deleting) return AWAIT_CHANGE;
  if (which === "first" && !asksTheSame(stored.native, now.native))
    return reconcile(world, request, "second");
  // Another pool may have created claims while this plan was made. Their nodes may take the capacity that this plan
  // needs, so the plan is made again.
  if (!world.cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  if (lacks !== undefined)
    world.events.publish(nodesMissing(now.native, now.pool.replicas ?? 0, lacks));
  // Meanwhile other nodes may have joined, or `replicas` may be lower.
  const planned = plans.slice(0, lacking(world, now.pool).count);
  const created = await createClaims(world, log, planned, "provisioned");
  for (const claim of created) {
    if (!(claim instanceof Error)) continue;
    log.error(`failed creating ${vocabulary(pool.generation).claimNoun}`, { error: claim.message });
  }
  const short = planned.length < count || created.some((claim) => claim instanceof Error);
  return requeueAfter(short || limited ? LIMITED_MS : POLL_MS);
}

function lacking(world: World, pool: Pool): ReturnType<typeof missing> {
  return missing(pool, countStatic(pool, world.cluster.nodes()));
}
