/**
 * Gauges of the capacity, limits and cost of each pool's nodes, read from the cluster state at each scrape.
 * upstream: pkg/controllers/metrics/nodepool/controller.go
 */
import type { Pool } from "../../apis/hub/pool.ts";
import type { Resources } from "../../apis/resources.ts";
import type { MetricSpec, Series } from "../../base/metrics.ts";
import { priceOf } from "../../core/disruption/candidates.ts";
import type { Controller } from "../../kube/manager/controller.ts";
import type { LastTypes } from "../metered-cloud.ts";
import { listPools } from "../pools.ts";
import type { World } from "../world.ts";
import { inUnits, resourceType, viewsOf } from "./nodes.ts";
import { LOOKED_AT_PER_STEP, observer } from "./observer.ts";

/** Metrics of the usage, limits and cost of NodePools. */
export const POOL_METRICS: readonly MetricSpec[] = [
  {
    name: "nodepools_usage",
    type: "gauge",
    help: "Capacity of a nodepool's nodes, by resource.",
    labels: ["resource_type", "nodepool"],
  },
  {
    name: "nodepools_limit",
    type: "gauge",
    help: "Limit of a nodepool (spec.limits), by resource.",
    labels: ["resource_type", "nodepool"],
  },
  {
    name: "nodepools_cost_total",
    type: "gauge",
    help: "Cost of a nodepool's nodes in dollars per hour, at the prices the controller knows. Not your bill.",
    labels: ["nodepool"],
  },
  {
    name: "nodepools_cost_tracker_errors_total",
    type: "counter",
    help: "Number of times that a nodepool's instance types and prices could not be read.",
    labels: ["nodepool"],
  },
];

/** Resources that are always reported, even if they are zero, as in a pool's status. */
const ZEROS: Resources = { cpu: 0, memory: 0, pods: 0, "ephemeral-storage": 0, nodes: 0 };

/** Gauges of NodePools, read at each scrape. */
export function poolMetrics(world: World, lastTypes: LastTypes): Controller {
  const { cluster } = world;

  function* amounts(of: (pool: Pool) => Resources): Series {
    yield* cluster.catchUp();
    for (const pool of listPools(world)) {
      const resources = of(pool);
      for (const name in resources)
        yield {
          labels: { resource_type: resourceType(name), nodepool: pool.name },
          value: inUnits(resources, name),
        };
    }
  }

  function* costs(): Series {
    const microUsd = new Map<string, number>();
    for (const [at, { poolId, labels }] of (yield* viewsOf(world)).entries()) {
      if (at % LOOKED_AT_PER_STEP === 0) yield undefined;
      const types = poolId === undefined ? undefined : lastTypes.get(poolId);
      if (poolId === undefined || types === undefined) continue;
      microUsd.set(poolId, (microUsd.get(poolId) ?? 0) + priceOf(labels, types));
    }
    for (const { id, name } of listPools(world))
      yield { labels: { nodepool: name }, value: (microUsd.get(id) ?? 0) / 1_000_000 };
  }

  return observer(world.metrics, "metrics.nodepool", [
    ["nodepools_usage", () => amounts(({ id }) => ({ ...ZEROS, ...cluster.poolUsage(id) }))],
    ["nodepools_limit", () => amounts(({ limits }) => limits)],
    ["nodepools_cost_total", costs],
  ]);
}
