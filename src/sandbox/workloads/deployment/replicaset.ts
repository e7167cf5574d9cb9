/**
 * The ReplicaSet controller. It keeps the wanted number of pods, deletes the least useful ones first, and
 * reports counts. It also adopts matching pods without an owner, which `kubectl delete --cascade=orphan`
 * leaves behind.
 */
import { REPLICA_SET, type ReplicaSet } from "../../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror } from "../../parts.ts";
import { adopt, requestsToOwnerOrAdopter } from "../adoption.ts";
import {
  activePods,
  createPod,
  generatedName,
  pacerOf,
  podOf,
  podsOwnedBy,
  removePod,
  slowStart,
  untilAvailable,
} from "../controls.ts";
import { byDeletionPreference } from "./deletion-preference.ts";
import { type Failure, failureOf, statusOf } from "./replicaset-status.ts";

/** Maximum number of pods that one reconcile creates or deletes. upstream: BurstReplicas */
const BURST = 500;
/** Milliseconds for each pod between two reconciles: 250 ms for a set of 1,000 pods. */
const PACE_MS_PER_POD = 0.25;

/** Keeps ReplicaSets at their replicas. upstream: pkg/controller/replicaset of Kubernetes. */
export function replicaSetController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const sets = mirrors.of(REPLICA_SET);
  const random = deps.random.fork("replicaset");
  const recorder = createPartRecorder(deps, "replicaset-controller");
  const pacer = pacerOf(sets, PACE_MS_PER_POD);
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const set = sets.get(`${namespace}/${name}`);
    if (set === undefined) return AWAIT_CHANGE;
    const waitMs = pacer.waitMs(set, set.status?.replicas ?? 0, clock.now());
    if (waitMs > 0) return requeueAfter(waitMs);
    const leaving = set.metadata.deletionTimestamp !== undefined;
    if (!leaving) await adopt(deps, REPLICA_SET, set);
    const active = activePods(podsOwnedBy(deps, set));
    const missing = leaving ? 0 : (set.spec.replicas ?? 1) - active.length;
    let failure: unknown;
    try {
      if (missing !== 0) await scale(set, active, missing);
    } catch (error) {
      failure = error;
    }
    const outcome = await report(set, failureOf(failure, missing > 0));
    if (failure !== undefined) throw failure;
    return Math.abs(missing) > BURST ? requeueAfter(0) : outcome;
  }

  /** Creates `missing` pods. If it is negative, deletes as many. */
  async function scale(set: ReplicaSet, active: readonly Pod[], missing: number): Promise<void> {
    const count = Math.min(BURST, Math.abs(missing));
    if (missing > 0) {
      const pods = Array.from({ length: count }, () =>
        podOf(REPLICA_SET, set, set.spec.template, generatedName(set, random)),
      );
      await slowStart(pods.map((pod) => () => createPod(deps, recorder, REPLICA_SET, set, pod)));
      return;
    }
    const others = siblingsOf(set, sets.list()).flatMap((other) => podsOwnedBy(deps, other));
    const crowding = podsByNode([...active, ...activePods(others)]);
    const going = byDeletionPreference(active, crowding).slice(0, count);
    await Promise.all(going.map((pod) => removePod(deps, recorder, REPLICA_SET, set, pod)));
  }

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
    watches: [source(REPLICA_SET), source(POD, requestsToOwnerOrAdopter("ReplicaSet", sets))],
    concurrency: 8,
    reconcile,
  };
}

/** Other ReplicaSets of the same Deployment. */
function siblingsOf({ metadata }: ReplicaSet, all: readonly ReplicaSet[]): readonly ReplicaSet[] {
  const owner = metadata.ownerReferences?.find((one) => one.controller === true);
  if (owner === undefined) return [];
  return all.filter(
    (other) =>
      other.metadata.uid !== metadata.uid &&
      other.metadata.namespace === metadata.namespace &&
      other.metadata.ownerReferences?.some(({ uid }) => uid === owner.uid),
  );
}

/** The number of pods on each node. Pods on crowded nodes are deleted first. */
function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { spec } of pods) {
    const node = spec.nodeName ?? "";
    counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}
