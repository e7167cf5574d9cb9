/**
 * Says on a NodePool when its nodes may be disrupted next: the condition DisruptionAllowed, there only while
 * budgets, the cluster's budgets or a pause hold something up, so that a pool in which all is allowed looks
 * as upstream's. Ours. Woken by the pool, and when a window opens or closes.
 */
import { condition, withCondition, withoutCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import { type Standing, standingOf } from "../../core/disruption/calendar.ts";
import { pauseOf } from "../../core/disruption/pause.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { changePool, isManagedPool, readPool, type StoredPool } from "../pools.ts";
import type { World } from "../world.ts";

const TYPE = "DisruptionAllowed";
const FOREVER_MS = Number.POSITIVE_INFINITY;

/** What was worked out of a pool's spec and pause, good until its windows change. */
interface Known {
  readonly about: string;
  readonly standing: Standing;
}

export function nodePoolCalendar(world: World): Controller {
  const known = new Map<string, Known>();
  return {
    name: "nodepool.calendar",
    watches: [source(NODE_POOL)],
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
    known.delete(request.name);
    return AWAIT_CHANGE;
  }
  const { native } = stored;
  const nowMs = world.clock.now();
  const { held, changesAtMs } = standing(world, known, stored, nowMs);
  if (held === undefined) {
    if (condition(native, TYPE) !== undefined)
      await changePool(world, stored, (one) => withoutCondition(one, TYPE));
  } else {
    await changePool(world, stored, (one) => withCondition(one, { type: TYPE, ...held }, nowMs));
  }
  if (changesAtMs === undefined) return AWAIT_CHANGE;
  return requeueAfter(Math.max(1, changesAtMs - nowMs));
}

/** Pools change many times a minute, as nodes come and go; their budgets do not. */
function standing(
  world: World,
  known: Map<string, Known>,
  { native, pool }: StoredPool,
  nowMs: number,
): Standing {
  const { clusterBudgets, pauseDisruption } = world.settings;
  const paused = pauseOf(native, pauseDisruption)?.message;
  const about = JSON.stringify([native.metadata.uid, native.metadata.generation, paused]);
  const before = known.get(pool.name);
  const isGood = before?.about === about && nowMs < (before.standing.changesAtMs ?? FOREVER_MS);
  if (isGood) return before.standing;
  const found = standingOf(pool.disruption.budgets, clusterBudgets, paused, nowMs);
  known.set(pool.name, { about, standing: found });
  return found;
}
