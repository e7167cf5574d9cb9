/**
 * Writes the capacity of each pool's nodes into its status every five seconds, for `kubectl get nodepools`. Zeros are
 * written too.
 * upstream: pkg/controllers/nodepool/counter/controller.go
 */
import type { KubeObject } from "../../apis/meta.ts";
import { formatResources, type Resources } from "../../apis/resources.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { isManagedPool, poolSources, readPool } from "../pools.ts";
import type { World } from "../world.ts";

const POLL_MS = 5_000;
const UNSYNCED_RETRY_MS = 1_000;

/** Resources that are always written, even if they are zero. */
const ZEROS: Resources = { cpu: 0, memory: 0, pods: 0, "ephemeral-storage": 0, nodes: 0 };

type Counted = KubeObject & { status?: { resources?: unknown; nodes?: number } };

/**
 * The controller that writes `status.resources`: the capacity of the pool's nodes. upstream:
 * pkg/controllers/nodepool/counter.
 */
export function nodePoolCounter(world: World): Controller {
  return {
    name: "nodepool.counter",
    watches: [...poolSources()],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined) {
    for (const gauge of ["nodepools_allowed_disruptions", "nodepools_nodes_consuming_budgets"])
      world.metrics.forget(gauge, { nodepool: request.name });
    return AWAIT_CHANGE;
  }
  if (!isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { cluster } = world;
  if (!cluster.synced) return requeueAfter(UNSYNCED_RETRY_MS);
  const { pool, kind } = stored;
  const native = stored.native as Counted;
  const usage = { ...ZEROS, ...cluster.poolUsage(pool.id) };
  // The status of a Provisioner has no field for the number of nodes.
  const nodes = pool.generation === "alpha" ? {} : { nodes: usage["nodes"] ?? 0 };
  const status = { ...native.status, resources: formatResources(usage), ...nodes };
  await patchObject(world.kube, kind, native, { ...native, status } as Counted);
  return requeueAfter(POLL_MS);
}
