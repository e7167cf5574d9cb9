/**
 * Explains what a leaving node waits for: first its pods and what protects them, then its volumes and its instance. The
 * progress of the drain is read from the claim's conditions.
 */

import { isWaitingEviction } from "../../apis/core/pod-predicates.ts";
import { condition, isTrue } from "../../apis/karpenter/conditions.ts";
import { NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY } from "../../apis/karpenter/labels.ts";
import type { NodeClaim } from "../../apis/karpenter/nodeclaim.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { counted } from "../../base/counted.ts";
import { blocksOf } from "../disruption/candidates.ts";
import type { CommandReason } from "../disruption/command.ts";
import type { Picture } from "../disruption/make-round.ts";
import type { Hold } from "./hold.ts";
import type { Owned } from "./owned-node.ts";

const MAX_NAMED = 3;
/**
 * If the instance is not being terminated this long after the drain, the answer explains what to check. Normally it
 * takes seconds.
 */
const LONG_MS = 60_000;

/** The holds of a leaving node. `against`: the reasons for which it could be disrupted if it were not leaving. */
export function leavingHolds(
  picture: Picture,
  { node, claim, pool }: Owned,
  against: readonly CommandReason[],
): readonly Hold[] {
  const deadline = claim.metadata.annotations?.[NODECLAIM_TERMINATION_TIMESTAMP_ANNOTATION_KEY];
  const deadlineMs = fromRfc3339(deadline) ?? Number.POSITIVE_INFINITY;
  const pods = node.pods.filter((pod) => isWaitingEviction(pod, picture.nowMs)).map(keyOf);
  const until = (ms: number) => (ms < Number.POSITIVE_INFINITY ? { until: toRfc3339(ms) } : {});
  const isBounded = pods.length > 0 || hasVolumes(claim);
  const first: Hold = {
    block: "leaving",
    says: `being deleted since ${claim.metadata.deletionTimestamp}: ${waitsFor(claim, pods.sort(), picture.nowMs)}`,
    ...until(isBounded ? deadlineMs : Number.POSITIVE_INFINITY),
    against,
  };
  const guards = blocksOf({ node, claim, pool }, { ...picture, disruptionClass: "graceful" }, 100)
    .filter(({ kind }) => kind === "pod" || kind === "pdb")
    .map(
      ({ kind, message, by, untilMs }): Hold => ({
        block: kind,
        says: message,
        ...(by === undefined ? {} : { by }),
        ...until(Math.min(untilMs ?? Number.POSITIVE_INFINITY, deadlineMs)),
        against,
      }),
    );
  return [first, ...(pods.length > 0 ? guards : [])];
}

function waitsFor(claim: NodeClaim, pods: readonly string[], nowMs: number): string {
  if (pods.length > 0) {
    const named = pods.slice(0, MAX_NAMED).join(", ");
    return `waiting for eviction: ${counted(pods.length, "pod")} (${named}${pods.length > MAX_NAMED ? ", …" : ""})`;
  }
  const ending = condition(claim, "InstanceTerminating");
  if (ending?.status === "True")
    return `its instance is being terminated${ending.lastTransitionTime === undefined ? "" : ` since ${ending.lastTransitionTime}`}`;
  if (hasVolumes(claim))
    return "volumes are still attached (the Node's event AwaitingVolumeDetachment names them)";
  const drained = condition(claim, "Drained");
  const drainedMs = drained?.status === "True" ? fromRfc3339(drained.lastTransitionTime) : nowMs;
  return nowMs - (drainedMs ?? nowMs) < LONG_MS
    ? "its pods are gone; its instance is terminated next"
    : `its pods are gone since ${drained?.lastTransitionTime}, but its instance is not terminated yet (see its event FailedTermination; without one, check that the controller runs)`;
}

/** Whether the node waits for its volumes: some are attached, and the instance is not being terminated yet. */
function hasVolumes(claim: NodeClaim): boolean {
  if (isTrue(claim, "InstanceTerminating")) return false;
  return condition(claim, "VolumesDetached")?.status === "Unknown";
}
