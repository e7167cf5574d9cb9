/**
 * Keeps static pools at their `replicas`: asks for the nodes that are missing, at once. Behind the gate
 * StaticCapacity. upstream: pkg/controllers/static/provisioning/controller.go
 */
import { vocabulary } from "../../apis/hub/generation.ts";
import { inTurns, TURN_MS } from "../../base/steps.ts";
import { countStatic, missing } from "../../core/disruption/static-pools.ts";
import { planStaticNodesInSteps } from "../../core/provisioning/static-nodes.ts";
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
import { staticPoolSources } from "./sources.ts";

const POLL_MS = 60_000;
const LIMITED_MS = 30_000;
const UNSYNCED_RETRY_MS = 1_000;

export function staticProvisioning(world: World): Controller {
  return {
    name: "static.provisioning",
    watches: staticPoolSources(),
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined) return AWAIT_CHANGE;
  const { pool } = stored;
  if (pool.replicas === undefined || !isManagedPool(world, pool)) return AWAIT_CHANGE;
  if (pool.deleting || !pool.ready) return AWAIT_CHANGE;
  if (!world.cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  const log = world.log.with({ controller: "static.provisioning", ...poolFields(pool) });
  const lacking = () => missing(pool, countStatic(pool, world.cluster.nodes()));
  const { count, limited } = lacking();
  if (limited) log.info("nodepool node limit reached");
  if (count === 0) return requeueAfter(limited ? LIMITED_MS : POLL_MS);
  const input = await poolInput(world, pool, log);
  if (typeof input === "string") return requeueAfter(LIMITED_MS);
  const planning = planStaticNodesInSteps(schedulingInput(world, [], [input]), input, count);
  const plans = await inTurns(world.clock, planning, TURN_MS);
  // Others may have come meanwhile. A pool that asks for something else by now is planned for anew: its change wakes us.
  const now = readPool(world, request);
  const stillWanted = now?.pool.ready === true && asksTheSame(stored.native, now.native);
  const planned = stillWanted ? plans.slice(0, lacking().count) : [];
  const created = await createClaims(world, log, planned, "provisioned");
  for (const claim of created) {
    if (!(claim instanceof Error)) continue;
    log.error(`failed creating ${vocabulary(pool.generation).claimNoun}`, { error: claim.message });
  }
  const short = planned.length < count || created.some((claim) => claim instanceof Error);
  return requeueAfter(short || limited ? LIMITED_MS : POLL_MS);
}
