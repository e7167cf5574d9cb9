/**
 * Writes the condition NodeRegistrationHealthy: whether a pool's last nodes registered. It is only informational: Ready
 * does not depend on it. It is reset when the pool or its class changes. After a restart it continues from the stored
 * condition.
 * upstream: pkg/controllers/nodepool/registrationhealth/controller.go
 */
import { condition, withCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import { changePool, isManagedPool, readPool, type StoredPool } from "../pools.ts";
import type { RegistrationTracker } from "../registration-tracker.ts";
import type { World } from "../world.ts";

const TYPE = "NodeRegistrationHealthy";

/** The controller that updates NodeRegistrationHealthy. upstream: pkg/controllers/nodepool/registrationhealth. */
export function registrationHealth(world: World, tracker: RegistrationTracker): Controller {
  /** The `metadata.generation` of pool and class for which the tracker counts attempts, by pool UID. */
  const seen = new Map<string, string>();
  return {
    name: "nodepool.registrationhealth",
    watches: [source(NODE_POOL)],
    concurrency: 10,
    reconcile: (request) => reconcile(world, tracker, seen, request),
  };
}

async function reconcile(
  world: World,
  tracker: RegistrationTracker,
  seen: Map<string, string>,
  request: Request,
): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const { uid, observedGeneration } = stored.pool;
  const classGeneration = (stored.native as NodePool).status?.nodeClassObservedGeneration ?? 0;
  const about = `${observedGeneration}/${classGeneration}`;
  const known = condition(stored.native, TYPE);
  const before = seen.get(uid);
  seen.set(uid, about);
  if (before === undefined && known?.observedGeneration === observedGeneration) {
    if (known.status === "True") tracker.reset(uid, "healthy");
    if (known.status === "False") tracker.reset(uid, "unhealthy");
    return AWAIT_CHANGE;
  }
  // The class generation 0 means that no class was seen yet, so it does not count as a change of the class.
  const changed = before !== undefined && before !== about && !before.endsWith("/0");
  if (known !== undefined && !changed) return AWAIT_CHANGE;
  tracker.reset(uid);
  await setUnknown(world, stored);
  return AWAIT_CHANGE;
}

function setUnknown(world: World, stored: StoredPool): Promise<unknown> {
  return changePool(world, stored, (native) =>
    withCondition(
      native,
      {
        type: TYPE,
        status: "Unknown",
        reason: "AwaitingReconciliation",
        message: "object is awaiting reconciliation",
      },
      world.clock.now(),
    ),
  );
}
