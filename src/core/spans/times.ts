/** When a condition of a claim became true, more exactly than in whole seconds where possible. */
import { condition } from "../../apis/karpenter/conditions.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { fromRfc3339 } from "../../base/clock.ts";

/** When this process first saw facts about an object, by name of a condition or an event. */
export type SeenMs = Readonly<Record<string, number>>;

/** Unless something delays it, a watch delivers a change within this time. */
const SOON_MS = 2_000;

/** When the condition became true. Undefined: it is not true. */
export function trueSinceMs(claim: NodeClaim, type: string, seenMs: SeenMs): number | undefined {
  const found = condition(claim, type);
  if (found?.status !== "True") return undefined;
  return sharper(fromRfc3339(found.lastTransitionTime), seenMs[type]);
}

/**
 * The more exact of two times. Kubernetes writes whole seconds (`writtenMs`). If this process saw the change soon after
 * that, `seenMs` is more exact. If it saw the change late, the written time counts.
 */
export function sharper(
  writtenMs: number | undefined,
  seenMs: number | undefined,
): number | undefined {
  if (writtenMs === undefined || seenMs === undefined) return writtenMs ?? seenMs;
  return seenMs >= writtenMs && seenMs - writtenMs < SOON_MS ? seenMs : writtenMs;
}
