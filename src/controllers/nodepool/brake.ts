/**
 * Shows the brake (core/safety/brake.ts) on every pool, as the condition InvoluntaryEndsStopped and an event. The brake
 * stops deletions that no user requested when there are too many. It is released when a person adds an annotation. The
 * condition also keeps the brake on over a restart. karpenter-ts only.
 */

import { condition } from "../../apis/karpenter/conditions.ts";
import type { KubeObject } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { firstNames } from "../../base/counted.ts";
import { HOLD_MS } from "../../core/safety/brake.ts";
import {
  brakeConditionMessage,
  newestRelease,
  BRAKE_CONDITION as TYPE,
} from "../../core/safety/brake-condition.ts";
import { brakeMessage } from "../../core/safety/judge.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { fleetSize } from "../ending/ended.ts";
import { earlierNow, laterNow } from "../ending/two-clocks.ts";
import {
  isManagedPool,
  listPools,
  poolById,
  poolRequest,
  poolSources,
  readPool,
  type StoredPool,
  showOnPool,
} from "../pools.ts";
import type { World } from "../world.ts";

/** The most postponed objects that the condition names. */
const NAMED = 5;

/**
 * The controller that shows the state of the brake as a condition of NodePools, and releases it if they have the
 * annotation.
 */
export function nodePoolBrake(world: World): Controller {
  /** Pools whose stored condition this process has read, by kind and name. */
  const seen = new Set<string>();
  world.metrics.read("involuntary_ends_stopped", () => [
    { labels: {}, value: world.brake.isOn(world.clock.elapsedMs()) ? 1 : 0 },
  ]);
  return {
    name: "nodepool.brake",
    watches: poolSources(),
    listen: (ask) =>
      world.brake.listen(() => {
        for (const pool of listPools(world)) ask(poolRequest(pool));
      }),
    concurrency: 1,
    reconcile: (request) => reconcile(world, seen, request),
  };
}

async function reconcile(world: World, seen: Set<string>, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  const key = `${request.kind}/${request.name}`;
  if (stored === undefined || !isManagedPool(world, stored.pool)) {
    seen.delete(key);
    return AWAIT_CHANGE;
  }
  const { brake, clock } = world;
  const nowMs = clock.elapsedMs();
  if (!seen.has(key)) resume(world, stored.native);
  seen.add(key);
  if (brake.isOn(nowMs) && releasedAtMs(world) >= wallMs(world, brake.sinceMs ?? nowMs)) {
    brake.release();
    world.log.info("a person let involuntary ends go on", { annotatedOn: key });
  }
  if (!brake.isOn(nowMs)) {
    await showOnPool(world, stored, { type: TYPE, shown: undefined });
    return AWAIT_CHANGE;
  }
  const sinceMs = brake.sinceMs ?? nowMs;
  await show(world, stored, wallMs(world, sinceMs));
  return requeueAfter(Math.max(1, sinceMs + HOLD_MS - nowMs));
}

/**
 * Switches the brake on again if an earlier process had it on less than an hour ago, and no user has released it since.
 */
function resume(world: World, native: KubeObject): void {
  const { brake, clock } = world;
  const stored = condition(native, TYPE);
  const sinceMs = fromRfc3339(stored?.lastTransitionTime);
  if (stored?.status !== "True" || sinceMs === undefined) return;
  const ageMs = Math.max(0, earlierNow(world) - sinceMs);
  if (ageMs < HOLD_MS && releasedAtMs(world) < sinceMs) brake.resume(clock.elapsedMs() - ageMs);
}

function releasedAtMs(world: World): number {
  const pools = listPools(world).flatMap(({ id }) => poolById(world, id)?.native ?? []);
  return newestRelease(pools, earlierNow(world));
}

/** Converts a time of the monotonic clock to milliseconds since 1970. */
function wallMs(world: World, elapsedMs: number): number {
  return laterNow(world) - (world.clock.elapsedMs() - elapsedMs);
}

async function show(world: World, stored: StoredPool, sinceMs: number): Promise<void> {
  const { brake } = world;
  const { native, pool, kind } = stored;
  const fleet = fleetSize(world);
  const why = `${brakeMessage(brake.most(fleet), fleet)}${heldText(brake.held)}`;
  const message = brakeConditionMessage(why, kind.kind, pool.name);
  const shown = { status: "True", reason: "TooManyEnds", message } as const;
  await showOnPool(world, stored, { type: TYPE, shown });
  world.events.publish(involuntaryEndsStopped(native, message, toRfc3339(sinceMs)));
}

function heldText(held: readonly string[]): string {
  if (held.length === 0) return "";
  return ` Waiting: ${firstNames(held, NAMED)}.`;
}

/** Events that say that the brake stopped deletions. `since`: when, so that the event of a later stop is a new one. */
export function involuntaryEndsStopped(
  object: KubeObject,
  message: string,
  since: string,
): EventToPublish {
  return {
    object,
    type: "Warning",
    reason: "InvoluntaryEndsStopped",
    message,
    dedupeValues: [object.metadata.name, since],
  };
}
