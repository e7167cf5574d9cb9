/**
 * A controller that only shows: metrics that are read off the present, from when this replica's controllers
 * run until they stop. It has nothing to reconcile.
 */
import type { Metrics, Series } from "../../base/metrics.ts";
import { AWAIT_CHANGE, type Controller, type Source } from "../../kube/manager/controller.ts";

/** A metric's name, and a function that returns its current series. */
export type Reader = readonly [string, () => Series];

/** Objects that are gone through before others may have their turn: some ten microseconds each. */
export const LOOKED_AT_PER_STEP = 64;

/** A controller that only computes gauges, when they are scraped. */
export function observer(
  metrics: Metrics,
  name: string,
  readers: readonly Reader[],
  watches: readonly Source[] = [],
): Controller {
  return {
    name,
    watches,
    concurrency: 1,
    listen: () => showAll(metrics, readers),
    reconcile: async () => AWAIT_CHANGE,
  };
}

/** Returns "stop". */
export function showAll(metrics: Metrics, readers: readonly Reader[]): () => void {
  const stops = readers.map(([metric, read]) => metrics.read(metric, read));
  return () => {
    for (const stop of stops) stop();
  };
}
