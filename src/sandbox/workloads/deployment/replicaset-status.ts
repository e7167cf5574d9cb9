/**
 * The status of a ReplicaSet: its numbers of pods, of ready, available and fully labelled ones, and why pods could
 * not be created or deleted. Pure functions. upstream: kubernetes pkg/controller/replicaset/replica_set_utils.go
 */
import type { ReplicaSet } from "../../../apis/apps/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { Condition } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { answerOf, isAvailable, REPLICA_FAILURE } from "../controls.ts";

/**
 * The status of a ReplicaSet with these active pods. `failure`: why pods could not be created or deleted. Undefined:
 * they could.
 */
export function statusOf(
  set: ReplicaSet,
  active: readonly Pod[],
  failure: Failure | undefined,
  nowMs: number,
): NonNullable<ReplicaSet["status"]> {
  const { minReadySeconds, template } = set.spec;
  const matchLabels = template.metadata?.labels ?? {};
  const count = (predicate: (pod: Pod) => boolean): number => active.filter(predicate).length;
  const { conditions: _, ...known } = set.status ?? {};
  const conditions = conditionsAfter(set, failure, nowMs);
  return {
    ...known,
    ...(conditions.length === 0 ? {} : { conditions }),
    replicas: active.length,
    fullyLabeledReplicas:
      count((pod) => matchesLabelSelector({ matchLabels }, pod.metadata.labels)) || undefined,
    readyReplicas: count(isReady) || undefined,
    availableReplicas: count((pod) => isAvailable(pod, minReadySeconds, nowMs)) || undefined,
    observedGeneration: set.metadata.generation,
  } as NonNullable<ReplicaSet["status"]>;
}

/** Why pods could not be created or deleted, for the condition ReplicaFailure. */
export interface Failure {
  readonly reason: "FailedCreate" | "FailedDelete";
  readonly message: string;
}

/** The failure for an error. Undefined: there was no error. */
export function failureOf(error: unknown, creating: boolean): Failure | undefined {
  if (error === undefined) return undefined;
  return { reason: creating ? "FailedCreate" : "FailedDelete", message: answerOf(error) };
}

/**
 * Adds the condition of a failure if there is none yet. It stays unchanged until creation and deletion succeed.
 * upstream: kubernetes pkg/controller/replicaset/replica_set_utils.go calculateStatus
 */
function conditionsAfter(
  set: ReplicaSet,
  failure: Failure | undefined,
  nowMs: number,
): readonly Condition[] {
  const conditions = set.status?.conditions ?? [];
  if (failure === undefined) return conditions.filter(({ type }) => type !== REPLICA_FAILURE);
  if (conditions.some(({ type }) => type === REPLICA_FAILURE)) return conditions;
  const lastTransitionTime = toRfc3339(nowMs);
  return [...conditions, { type: REPLICA_FAILURE, status: "True", lastTransitionTime, ...failure }];
}
