/**
 * Writes on a NodePool or Provisioner why none of its broken nodes is repaired, in the condition RepairStopped. The
 * condition exists only while too many nodes are broken, or while they are broken for the same reason. karpenter-ts
 * only.
 */

import { type StepRunner, stepRunner, TURN_MS } from "../../base/steps.ts";
import {
  causeMessage,
  causeOf,
  isPoolStopped,
  type Survey,
  survey,
} from "../../core/repair/survey.ts";
import { tryEach } from "../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { isRepairMethod } from "../disruption/gather.ts";
import { mayDecide } from "../may-decide.ts";
import { listPools, poolById, type StoredPool, showOnPool } from "../pools.ts";
import type { World } from "../world.ts";

const TYPE = "RepairStopped";
const POLL_MS = 30_000;
const NOTHING: Survey = { pools: new Map(), causes: [] };

/** The controller that updates the condition RepairStopped. */
export function nodePoolRepair(world: World): Controller {
  const name = "nodepool.repair";
  const run = stepRunner(world.clock, TURN_MS);
  return {
    name,
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name }],
    reconcile: () => reconcile(world, run),
  };
}

async function reconcile(world: World, run: StepRunner): Promise<Outcome> {
  if (!mayDecide(world)) return requeueAfter(POLL_MS);
  // If repair is off, a condition that an earlier process left is removed.
  const isOn = isRepairMethod(world);
  const found = isOn
    ? await run(survey(world.cluster.nodes(), world.cloud.repairPolicies))
    : NOTHING;
  await tryEach(listPools(world), async ({ id }) => {
    const stored = poolById(world, id);
    if (stored === undefined) return;
    const stop = stopOf(world, stored, found);
    const shown = stop && { status: "True" as const, ...stop };
    await showOnPool(world, stored, { type: TYPE, shown });
  });
  return isOn ? requeueAfter(POLL_MS) : AWAIT_CHANGE;
}

/** Why no node of the pool is repaired. If nodes have a common cause, the cause is reported instead of their number. */
function stopOf(
  { cluster }: World,
  { pool }: StoredPool,
  found: Survey,
): { readonly reason: string; readonly message: string } | undefined {
  const own = found.causes.length === 0 ? [] : cluster.nodes();
  const causes = own
    .filter(({ poolId }) => poolId === pool.id)
    .flatMap((view) => causeOf(view, found.causes) ?? []);
  const [cause] = found.causes.filter((one) => causes.includes(one));
  if (cause !== undefined) return { reason: "CommonCause", message: causeMessage(cause) };
  if (!isPoolStopped(pool.id, found)) return undefined;
  return {
    reason: "TooManyUnhealthy",
    message: `more than 20% of nodes in nodepool "${pool.name}" are unhealthy`,
  };
}
