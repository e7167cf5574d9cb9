/**
 * An API server whose resource versions went back, as after a restore of etcd. Its lists prove nothing until they have
 * caught up with what was seen before, which may take days. A new process has seen nothing, so a restart ends this. The
 * controller shows it as a condition of NodePools, which pauses their voluntary disruption. karpenter-ts only.
 */
import { condition } from "../../apis/karpenter/conditions.ts";
import type { KubeObject } from "../../apis/meta.ts";

/** The condition of NodePools that shows that versions went back. */
export const SET_BACK_CONDITION = "VersionsSetBack";

/** Why nothing ends, and what to do. */
export const SET_BACK_MESSAGE =
  "The API server's resource versions are lower than before, as after a restore of etcd. No node ends until they are higher again, or until all replicas of this controller are restarted (kubectl rollout restart deployment karpenter, in its namespace).";

/** Why voluntary disruption of the pool is paused, by its condition. Undefined: versions have not gone back. */
export function setBackShown(native: KubeObject | undefined): string | undefined {
  const found = native === undefined ? undefined : condition(native, SET_BACK_CONDITION);
  return found?.status === "True" ? (found.message ?? SET_BACK_MESSAGE) : undefined;
}
