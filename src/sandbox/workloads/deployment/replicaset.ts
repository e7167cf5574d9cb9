/**
 * The ReplicaSet controller: keeps as many pods as asked for, deletes the least useful first, and
 * reports counts. Also adopts matching orphans, as `kubectl` users expect after deleting a Deployment
 * with `--cascade=orphan`.
 */
import { REPLICA_SET, type ReplicaSet } from "../../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { Condition } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../../kube/controller.ts";
import { patchObject } from "../../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, PODS_BY_OWNER, podMirror } from "../../parts.ts";
import {
  activePods,
  answerOf,
  availableAtMs,
  createPod,
  generatedName,
  isAvailable,
  ownerReference,
  Pacer,
  podOf,
  podsOwnedBy,
  REPLICA_FAILURE,
  removePod,
  requestsToOwner,
  slowStart,
} from "../controls.ts";
import { byDeletionPreference } from "./deletion-preference.ts";

/** At most so many pods are created or deleted in one go. upstream of behaviour: BurstReplicas */
const BURST = 500;
/** A set of 1,000 pods is looked at every quarter of a second at most. */
const PACE_MS_PER_POD = 0.25;

export function replicaSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(REPLICA_SET);
  const random = deps.random.fork("replicaset");
  const recorder = createPartRecorder(deps, "replicaset-controller");
  const pacer = new Pacer(PACE_MS_PER_POD);
  podMirror(mirrors);
  sets.on((event, set) => {
    if (event === "removed") pacer.forget(set);
  });

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined) return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(set, set.status?.replicas ?? 0, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    if (set.metadata.deletionTimestamp === undefined) await adopt(set);
    const owned = podsOwnedBy(deps, set);
    const active = activePods(owned);
    const wanted = set.spec.replicas ?? 1;
    let failure: unknown;
    let more = false;
    if (set.metadata.deletionTimestamp === undefined && active.length !== wanted) {
      more = Math.abs(wanted - active.length) > BURST;
      try {
        await scale(set, active, wanted);
      } catch (error) {
        failure = error;
      }
    }
    const outcome = await report(set, failureOf(failure, active.length < wanted));
    if (failure !== undefined) throw failure;
    return more ? requeueAfter(0) : outcome;
  }

  async function scale(set: ReplicaSet, active: readonly Pod[], wanted: number): Promise<void> {
    const missing = Math.min(BURST, wanted - active.length);
    if (missing > 0) {
      const pods = Array.from({ length: missing }, () =>
        podOf(REPLICA_SET, set, set.spec.template, generatedName(set, random)),
      );
      await slowStart(pods.map((pod) => () => createPod(deps, recorder, REPLICA_SET, set, pod)));
      return;
    }
    const others = siblingsOf(set).flatMap((other) => activePods(podsOwnedBy(deps, other)));
    const crowding = podsByNode([...active, ...others]);
    const surplus = byDeletionPreference(active, crowding).slice(
      0,
      Math.min(BURST, active.length - wanted),
    );
    await Promise.all(surplus.map((pod) => removePod(deps, recorder, REPLICA_SET, set, pod)));
  }

  /** Other sets of the same Deployment. */
  function siblingsOf({ metadata }: ReplicaSet): readonly ReplicaSet[] {
    const owner = metadata.ownerReferences?.find((one) => one.controller === true);
    if (owner === undefined) return [];
    return sets
      .list()
      .filter(
        (other) =>
          other.metadata.uid !== metadata.uid &&
          other.metadata.namespace === metadata.namespace &&
          other.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid),
      );
  }

  async function adopt(set: ReplicaSet): Promise<void> {
    const orphans = podMirror(mirrors)
      .byIndex(PODS_BY_OWNER, `${set.metadata.namespace ?? ""}/`)
      .filter((pod) => matchesLabelSelector(set.spec.selector, pod.metadata.labels));
    for (const pod of activePods(orphans)) {
      const ownerReferences = [
        ...(pod.metadata.ownerReferences ?? []),
        ownerReference(REPLICA_SET, set),
      ];
      await patchObject(kube, POD, pod, { ...pod, metadata: { ...pod.metadata, ownerReferences } });
    }
  }

  /** `failure`: why the number of pods could not be made right. */
  async function report(before: ReplicaSet, failure: Failure | undefined): Promise<Outcome> {
    const set = sets.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const active = activePods(podsOwnedBy(deps, set));
    const now = clock.now();
    const status = statusOf(set, active, failure, now);
    await patchObject(kube, REPLICA_SET, set, { ...set, status });
    return untilAvailable(active, set.spec.minReadySeconds, now);
  }

  return {
    name: "replicaset",
    watches: [source(REPLICA_SET), source(POD, requestsForPod)],
    concurrency: 8,
    reconcile,
  };

  function requestsForPod(pod: Pod): Request[] {
    const owned = requestsToOwner("ReplicaSet")(pod);
    if (owned.length > 0 || (pod.metadata.ownerReferences ?? []).length > 0) return owned;
    return sets
      .list()
      .filter(
        (set) =>
          set.metadata.namespace === pod.metadata.namespace &&
          matchesLabelSelector(set.spec.selector, pod.metadata.labels),
      )
      .map(({ metadata: { namespace, name } }) => ({ kind: "ReplicaSet", namespace, name }));
  }
}

/** Crowded nodes are thinned first. */
function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { spec } of pods) {
    const node = spec.nodeName ?? "";
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

function statusOf(
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

interface Failure {
  readonly reason: "FailedCreate" | "FailedDelete";
  readonly message: string;
}

function failureOf(error: unknown, creating: boolean): Failure | undefined {
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

/** Looks again when the next ready pod becomes available by time alone. */
function untilAvailable(
  pods: readonly Pod[],
  minReadySeconds: number | undefined,
  nowMs: number,
): Outcome {
  if ((minReadySeconds ?? 0) === 0) return AWAIT_CHANGE;
  const due = pods
    .map((pod) => availableAtMs(pod, minReadySeconds))
    .filter((ms): ms is number => ms !== undefined && ms > nowMs);
  return due.length === 0 ? AWAIT_CHANGE : requeueAfter(Math.min(...due) - nowMs);
}
