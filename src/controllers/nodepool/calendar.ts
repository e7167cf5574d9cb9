/**
 * Writes on a NodePool or Provisioner when its nodes may be disrupted next, in the condition DisruptionAllowed. The
 * condition exists only while budgets, cluster budgets or a pause block something. Otherwise a pool has the same
 * conditions as in upstream. karpenter-ts only. Runs when the pool changes, and when a budget window begins or ends.
 */
import { type BudgetStanding, budgetStandingOf } from "../../core/answers/calendar.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import { isExpiryBudgeted } from "../../core/nodeclaim/expired.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { isManagedPool, poolSources, readPool, type StoredPool, showOnPool } from "../pools.ts";
import type { World } from "../world.ts";

const TYPE = "DisruptionAllowed";
const FOREVER_MS = Number.POSITIVE_INFINITY;

/**
 * The result for a pool. `about`: the spec and pause it was computed for. Valid until a budget window begins or ends.
 */
interface Known {
  readonly about: string;
  readonly standing: BudgetStanding;
}

/** The controller that updates the condition DisruptionAllowed: whether budgets allow a disruption, and when next. */
export function nodePoolCalendar(world: World): Controller {
  const known = new Map<string, Known>();
  return {
    name: "nodepool.calendar",
    watches: poolSources(),
    concurrency: 10,
    reconcile: (request) => reconcile(world, known, request),
  };
}

async function reconcile(
  world: World,
  known: Map<string, Known>,
  request: Request,
): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) {
    known.delete(`${request.kind}/${request.name}`);
    return AWAIT_CHANGE;
  }
  const nowMs = world.clock.now();
  const { held, changesAtMs } = standing(world, known, stored, nowMs);
  await showOnPool(world, stored, { type: TYPE, shown: held });
  if (changesAtMs === undefined) return AWAIT_CHANGE;
  return requeueAfter(Math.max(1, changesAtMs - nowMs));
}

/** What budgets allow for the pool. Results are kept, because a pool's status changes often, but its budgets do not. */
function standing(
  world: World,
  known: Map<string, Known>,
  { kind, native, pool }: StoredPool,
  nowMs: number,
): BudgetStanding {
  const { clusterBudgets, pauseDisruption, expiry } = world.settings;
  const paused = pauseOf(native, pauseDisruption)?.message;
  const about = JSON.stringify([native.metadata.uid, native.metadata.generation, paused]);
  const key = `${kind.kind}/${pool.name}`;
  const before = known.get(key);
  const isGood = before?.about === about && nowMs < (before.standing.changesAtMs ?? FOREVER_MS);
  if (isGood) return before.standing;
  const { budgets } = pool.disruption;
  const expires = isExpiryBudgeted(pool, expiry);
  const found = budgetStandingOf({ budgets, clusterBudgets, paused, expires }, nowMs);
  known.set(key, { about, standing: found });
  return found;
}
