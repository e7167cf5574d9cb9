/**
 * Publishes events about settings of a pool that users may misunderstand. With `limits.nodes: 0` nothing is launched
 * for the pool, but its nodes are kept. Another event is about an annotation that has no effect. karpenter-ts only.
 */
import { returnsProblem } from "../../apis/hub/returns.ts";
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events/events.ts";
import { AWAIT_CHANGE, type Controller } from "../../kube/manager/controller.ts";
import { isManagedPool, poolSources, readPool, type StoredPool } from "../pools.ts";
import type { World } from "../world.ts";

/**
 * The controller that publishes events about settings of a NodePool. Each event is published once as long as its text
 * is the same, and again after a restart.
 */
export function nodePoolSettingNotices(world: World): Controller {
  const published = new Map<string, ReadonlySet<string>>();
  return {
    name: "nodepool.settingnotices",
    watches: poolSources(),
    concurrency: 1,
    reconcile: async (request) => {
      const key = `${request.kind}/${request.name}`;
      const stored = readPool(world, request);
      if (stored === undefined || !isManagedPool(world, stored.pool)) {
        published.delete(key);
        return AWAIT_CHANGE;
      }
      const { uid = "" } = stored.native.metadata;
      const before = published.get(key);
      const events = eventsOf(stored).map((event) => ({ event, text: `${uid} ${event.message}` }));
      published.set(key, new Set(events.map(({ text }) => text)));
      for (const { event, text } of events)
        if (before?.has(text) !== true) world.events.publish(event);
      return AWAIT_CHANGE;
    },
  };
}

function eventsOf({ native, pool }: StoredPool): readonly EventToPublish[] {
  const problem = returnsProblem(native);
  return [
    ...(pool.limits["nodes"] === 0 ? [poolOff(native)] : []),
    ...(problem === undefined ? [] : [annotationIgnored(native, problem)]),
  ];
}

/** The event about a pool with `limits.nodes: 0`. */
export function poolOff(pool: KubeObject): EventToPublish {
  return {
    object: pool,
    type: "Normal",
    reason: "NodePoolOff",
    message: "limits.nodes is 0: no nodes are launched; raise or remove the limit to switch it on",
    dedupeValues: [pool.metadata.name],
  };
}

/** The event about an annotation of which all or a part has no effect. */
export function annotationIgnored(pool: KubeObject, message: string): EventToPublish {
  return {
    object: pool,
    type: "Warning",
    reason: "AnnotationIgnored",
    message,
    dedupeValues: [pool.metadata.name, message],
  };
}
