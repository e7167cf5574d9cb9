/** Events of static pools, on the pool. karpenter-ts only. */
import type { KubeObject } from "../../apis/meta.ts";
import type { EventToPublish } from "../../kube/events/events.ts";

const DEDUPE_MS = 5 * 60_000;

/** The event that says why a pool has fewer nodes than its replicas. */
export function nodesMissing(
  pool: KubeObject,
  replicas: number | string,
  why: string,
): EventToPublish {
  return {
    object: pool,
    type: "Warning",
    reason: "StaticNodesMissing",
    message: `Fewer nodes than spec.replicas (${replicas}) can be launched: ${why}`,
    dedupeValues: [pool.metadata.uid ?? pool.metadata.name],
    dedupeMs: DEDUPE_MS,
  };
}
