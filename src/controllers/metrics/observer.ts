/** A controller that only provides metrics, from its start until it stops. It has nothing to reconcile. */
import type { Metrics, Series } from "../../base/metrics.ts";
import { AWAIT_CHANGE, type Controller, type Source } from "../../kube/manager/controller.ts";

/** A metric's name, and a function that returns its current series. */
export type Reader = readonly [string, () => Series];

/** Number of objects in one step. Each takes about ten microseconds. */
export const LOOKED_AT_PER_STEP = 64;

/** A controller that only computes gauges at each scrape. */
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

/** Registers all readers. Returns a function that removes them. */
export function showAll(metrics: Metrics, readers: readonly Reader[]): () => void {
  const stops = readers.map(([metric, read]) => metrics.read(metric, read));
  return () => {
    for (const stop of stops) stop();
  };
}
