/**
 * Shows on every pool, as the condition VersionsSetBack, that the API server's resource versions went back, as after a
 * restore of etcd. The condition pauses voluntary disruption (core/disruption/pause.ts). It is removed once versions
 * are higher again, or by the next process, which has seen no higher ones. karpenter-ts only.
 */
import { SET_BACK_CONDITION, SET_BACK_MESSAGE } from "../../core/safety/set-back.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import {
  isManagedPool,
  listPools,
  poolRequest,
  poolSources,
  readPool,
  showOnPool,
} from "../pools.ts";
import type { World } from "../world.ts";

/** Milliseconds until the condition is shown. A server that lags behind others catches up sooner. */
const SHOWN_AFTER_MS = 120_000;

/** The controller that keeps the condition. */
export function nodePoolSetBack(world: World): Controller {
  return {
    name: "nodepool.setback",
    watches: poolSources(),
    listen: (ask) =>
      world.mirrors.onSetBack(() => {
        for (const pool of listPools(world)) ask(poolRequest(pool));
      }),
    concurrency: 1,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const setBack = world.mirrors.setBack();
  if (setBack.length > 0) {
    const sinceMs = Math.min(...setBack.map((one) => one.sinceMs));
    const leftMs = sinceMs + SHOWN_AFTER_MS - world.clock.elapsedMs();
    if (leftMs > 0) return requeueAfter(leftMs);
  }
  const kinds = setBack.map(({ kind }) => kind).join(", ");
  const message = `${SET_BACK_MESSAGE} Kinds: ${kinds}.`;
  const shown = { status: "True", reason: "OlderVersions", message } as const;
  await showOnPool(world, stored, {
    type: SET_BACK_CONDITION,
    shown: setBack.length > 0 ? shown : undefined,
  });
  return AWAIT_CHANGE;
}
