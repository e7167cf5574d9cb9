/**
 * What a ReplicaSet says of itself: how many pods it has, ready, available and fully labelled, and why it could not
 * make or remove some. Pure. upstream of behaviour: pkg/controller/replicaset/replica_set_utils.go
 */
import type { ReplicaSet } from "../../../apis/apps/kinds.ts";
import type { Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { Condition } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { answerOf, isAvailable, REPLICA_FAILURE } from "../controls.ts";

/** `failure`: why the number of pods could not be made right. */
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

/** The failure for an error; undefined without one. */
export function failureOf(error: unknown, creating: boolean): Failure | undefined {
  if (error === undefined) return undefined;
  return { reason: creating ? "FailedCreate" : "FailedDelete", message: answerOf(error) };
}

/**
 * A failure is noted when there is none yet, and stands as it is until all went well.
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
