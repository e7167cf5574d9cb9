/**
 * Says in NodeRegistrationHealthy whether a pool's last nodes joined: True after one that did, False
 * after two of the last four that did not. Informational: it is no part of Ready. Counted anew when the
 * pool or its class changes. upstream: pkg/controllers/nodepool/registrationhealth, pkg/state/nodepoolhealth
 */

import { condition, withCondition } from "../../apis/karpenter/conditions.ts";
import { NODE_POOL } from "../../apis/karpenter/nodepool.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../kube/controller.ts";
import { isManagedPool, readPool } from "../pools.ts";
import type { World } from "../world.ts";
import { changePool } from "./change-pool.ts";

export function registrationHealth(world: World): Controller {
  return {
    name: "nodepool.registrationhealth",
    watches: [source(NODE_POOL)],
    concurrency: 10,
    reconcile: (request) => reconcile(world, request),
  };
}

async function reconcile(world: World, request: Request): Promise<Outcome> {
  const stored = readPool(world, request);
  if (stored === undefined || !isManagedPool(world, stored.pool)) return AWAIT_CHANGE;
  const known = condition(stored.native, "NodeRegistrationHealthy");
  if (known?.observedGeneration === stored.pool.observedGeneration) return AWAIT_CHANGE;
  await changePool(world, stored, (native) =>
    withCondition(
      native,
      {
        type: "NodeRegistrationHealthy",
        status: "Unknown",
        reason: "AwaitingReconciliation",
        message: "object is awaiting reconciliation",
      },
      world.clock.now(),
    ),
  );
  return AWAIT_CHANGE;
}
