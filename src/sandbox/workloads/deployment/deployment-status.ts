/**
 * The status of a Deployment: its counts, the conditions Available, Progressing and ReplicaFailure, and the deadline
 * of a rollout. Pure functions. upstream: kubernetes pkg/controller/deployment (sync.go, progress.go)
 */
import type { Deployment, ReplicaSet } from "../../../apis/apps/kinds.ts";
import type { Condition } from "../../../apis/meta.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { AWAIT_CHANGE, type Outcome, requeueAfter } from "../../../kube/manager/controller.ts";
import { REPLICA_FAILURE, withWorkloadCondition } from "../controls.ts";
import { isOfTemplate } from "./deployment-sets.ts";
import { deploymentCounts } from "./rollout.ts";

const DEFAULT_DEADLINE_S = 600;

interface Progress {
  readonly type: "Progressing";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** The status of a Deployment. `owned`: its ReplicaSets. */
export function statusOf(deployment: Deployment, owned: readonly ReplicaSet[], nowMs: number) {
  const current = owned.find((set) => isOfTemplate(set, deployment));
  const counts = deploymentCounts(deployment, current, owned);
  const known = deployment.status?.conditions ?? [];
  const available = withWorkloadCondition(known, counts.available, nowMs);
  const progress = progressing(deployment, current, owned, nowMs);
  const progressed =
    progress === undefined ? available : withWorkloadCondition(available, progress, nowMs);
  const conditions = withReplicaFailure(progressed, current, owned);
  return { ...deployment.status, ...counts.status, conditions };
}

/** The condition Progressing. Undefined: it does not change. */
function progressing(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
  nowMs: number,
): Progress | undefined {
  const known = deployment.status?.conditions?.find(({ type }) => type === "Progressing");
  const name = current?.metadata.name ?? "";
  const type = "Progressing";
  if (deployment.metadata.deletionTimestamp !== undefined) return undefined;
  if (deployment.spec.paused === true) {
    if (known?.reason === "DeploymentPaused") return undefined;
    const message = "Deployment is paused";
    return { type, status: "Unknown", reason: "DeploymentPaused", message };
  }
  const what = `ReplicaSet "${name}"`;
  const { status } = deploymentCounts(deployment, current, owned);
  const wanted = deployment.spec.replicas ?? 1;
  const updated = status.updatedReplicas ?? 0;
  const all = status.replicas ?? 0;
  // With the strategy Recreate there is no current set until the old pods are gone.
  if (current === undefined) return undefined;
  // A finished rollout stays finished when replicas change later.
  const isDone = known?.reason === "NewReplicaSetAvailable" && known.message?.includes(`"${name}"`);
  if (isDone === true && all === updated) return undefined;
  if (updated === wanted && all === wanted && (status.availableReplicas ?? 0) === wanted) {
    const message = `${what} has successfully progressed.`;
    return { type, status: "True", reason: "NewReplicaSetAvailable", message };
  }
  const old = (deployment.status ?? {}) as Partial<Record<string, number>>;
  const oldReplicas = (old["replicas"] ?? 0) - (old["updatedReplicas"] ?? 0);
  const moved =
    updated > (old["updatedReplicas"] ?? 0) ||
    all - updated < oldReplicas ||
    (status.readyReplicas ?? 0) > (old["readyReplicas"] ?? 0) ||
    (status.availableReplicas ?? 0) > (old["availableReplicas"] ?? 0);
  if (moved) {
    const message = `${what} is progressing.`;
    return { type, status: "True", reason: "ReplicaSetUpdated", message };
  }
  if (known === undefined) {
    const message = `Created new replica set "${name}"`;
    return { type, status: "True", reason: "NewReplicaSetCreated", message };
  }
  if (known.reason === "NewReplicaSetAvailable" || known.reason === "ProgressDeadlineExceeded")
    return undefined;
  const since = fromRfc3339((known as { lastUpdateTime?: string }).lastUpdateTime) ?? nowMs;
  const deadlineMs = (deployment.spec.progressDeadlineSeconds ?? DEFAULT_DEADLINE_S) * 1_000;
  if (nowMs - since < deadlineMs) return undefined;
  const message = `${what} has timed out progressing.`;
  return { type, status: "False", reason: "ProgressDeadlineExceeded", message };
}

/** Milliseconds until the deadline of a rollout that is under way. */
export function untilDeadline(
  deployment: Deployment,
  conditions: readonly { readonly type: string; readonly reason?: string }[],
  nowMs: number,
): Outcome {
  const known = conditions.find(({ type }) => type === "Progressing");
  if (known?.reason !== "ReplicaSetUpdated" && known?.reason !== "NewReplicaSetCreated") {
    return AWAIT_CHANGE;
  }
  const since = fromRfc3339((known as { lastUpdateTime?: string }).lastUpdateTime) ?? nowMs;
  const deadlineMs = (deployment.spec.progressDeadlineSeconds ?? DEFAULT_DEADLINE_S) * 1_000;
  return requeueAfter(Math.max(1_000, since + deadlineMs + 1_000 - nowMs));
}

/** The condition ReplicaFailure of the newest set, or of another set. upstream: getReplicaFailures */
function withReplicaFailure(
  conditions: readonly Condition[],
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
): readonly Condition[] {
  const sets = current === undefined ? owned : [current, ...owned];
  const failure = sets
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type }) => type === REPLICA_FAILURE);
  const known = conditions.find(({ type }) => type === REPLICA_FAILURE);
  if (known?.status === failure?.status && known?.reason === failure?.reason) return conditions;
  const others = conditions.filter((one) => one !== known);
  if (failure === undefined) return others;
  const noted = { ...failure, lastUpdateTime: failure.lastTransitionTime };
  return [...others, noted];
}
