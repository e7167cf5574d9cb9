/**
 * Says by an event that a pool is switched off by `limits.nodes: 0`: nothing is launched for it, and the nodes that it
 * has stay. karpenter-ts only.
 */
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { AWAIT_CHANGE, type Controller } from "../../kube/manager/controller.ts";
import { isManagedPool, poolSources, readPool } from "../pools.ts";
import type { World } from "../world.ts";

/** Publishes the event once each time that the pool is switched off, and again after a restart. */
export function nodePoolOff(world: World): Controller {
  const told = new Map<string, string>();
  return {
    name: "nodepool.off",
    watches: poolSources(),
    concurrency: 1,
    reconcile: async (request) => {
      const key = `${request.kind}/${request.name}`;
      const stored = readPool(world, request);
      const isOff =
        stored !== undefined &&
        isManagedPool(world, stored.pool) &&
        stored.pool.limits["nodes"] === 0;
      if (!isOff) {
        told.delete(key);
        return AWAIT_CHANGE;
      }
      const { uid = "" } = stored.native.metadata;
      if (told.get(key) === uid) return AWAIT_CHANGE;
      told.set(key, uid);
      world.events.publish(poolOff(stored.native));
      return AWAIT_CHANGE;
    },
  };
}

/** The event. */
export function poolOff(pool: KubeObject): EventToPublish {
  return {
    object: pool,
    type: "Normal",
    reason: "NodePoolOff",
    message: "limits.nodes is 0: no nodes are launched; raise or remove the limit to switch it on",
    dedupeValues: [pool.metadata.name],
  };
}
