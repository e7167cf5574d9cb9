/**
 * Checks rules for a pool that its schema cannot express, and writes the condition ValidationSucceeded. A pool that
 * fails is not Ready, and planning ignores it. upstream: pkg/controllers/nodepool/validation/controller.go
 */
import { withCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL, type NodePool } from "../../apis/karpenter/nodepool.ts";
import {
  NODE_POOL_VALIDATION_FAILED,
  nodePoolProblems,
} from "../../apis/karpenter/nodepool-validation.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/manager/controller.ts";
import { changePool, isManagedPool, readPool } from "../pools.ts";
import type { World } from "../world.ts";

/** The controller that updates the condition ValidationSucceeded. upstream: pkg/controllers/nodepool/validation. */
export function nodePoolValidation(world: World): Controller {
  return {
    name: "nodepool.validation",
    watches: [source(NODE_POOL)],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined) return AWAIT_CHANGE;
  const { unreadable, classRef } = stored.pool;
  // A pool without a node class belongs to no provider, so every provider's Karpenter reports its problem.
  const isNobodys = unreadable !== undefined && classRef.kind === "";
  if (!isNobodys && !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const nowMs = world.clock.now();
  const type = "ValidationSucceeded";
  const problems =
    unreadable === undefined
      ? nodePoolProblems(stored.native as NodePool, world.cloud.wellKnownLabels)
      : [unreadable];
  if (unreadable !== undefined)
    world.log.error("nodepool cannot be read", {
      NodePool: { name: stored.pool.name },
      error: unreadable,
    });
  await changePool(world, stored, (native) =>
    problems.length === 0
      ? withCondition(native, { type, status: "True" }, nowMs)
      : withCondition(
          native,
          {
            type,
            status: "False",
            reason: NODE_POOL_VALIDATION_FAILED,
            message: problems.join("; "),
          },
          nowMs,
        ),
  );
  return AWAIT_CHANGE;
}
