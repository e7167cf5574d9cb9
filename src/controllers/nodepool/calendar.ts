/**
 * Says on a NodePool when its nodes may be disrupted next: the condition DisruptionAllowed, there only while
 * budgets, the cluster's budgets or a pause hold something up, so that a pool in which all is allowed looks
 * as upstream's. Ours. Woken by the pool, and when a window opens or closes.
 */
import { condition, withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { standingOf } from "../../core/disruption/calendar.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { changePool, isManagedPool, readPool } from "../pools.ts";
import type { World } from "../world.ts";

const TYPE = "DisruptionAllowed";
/** Windows may be years away: timers cannot. */
const MOST_WAIT_MS = 24 * 60 * 60_000;

export function nodePoolCalendar(world: World): Controller {
  return {
    name: "nodepool.calendar",
    watches: [source(NODE_POOL)],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { pool, native } = stored;
  const { clusterBudgets, pauseDisruption } = world.settings;
  const nowMs = world.clock.now();
  const paused = pauseOf(native, pauseDisruption)?.message;
  const { held, changesAtMs } = standingOf(pool.disruption.budgets, clusterBudgets, paused, nowMs);
  const known = condition(native, TYPE);
  if (held === undefined) {
    if (known !== undefined) await changePool(world, stored, (one) => withoutCondition(one, TYPE));
  } else {
    await changePool(world, stored, (one) => withCondition(one, { type: TYPE, ...held }, nowMs));
  }
  if (changesAtMs === undefined) return AWAIT_CHANGE;
  return requeueAfter(Math.min(MOST_WAIT_MS, Math.max(1, changesAtMs - nowMs)));
}
