/**
 * The Deployment controller: one ReplicaSet a template, rolled over within maxSurge and
 * maxUnavailable, revisions kept for `kubectl rollout undo`, and the conditions that
 * `kubectl rollout status` waits for. upstream of behaviour: pkg/controller/deployment.
 */
import {
  DEPLOYMENT,
  type Deployment,
  REPLICA_SET,
  type ReplicaSet,
} from "../../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  source,
} from "../../../kube/controller.ts";
import { isAlreadyExists, isNotFound } from "../../../kube/errors.ts";
import { patchObject } from "../../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";
import { podsOwnedBy, requestsToOwner, withWorkloadCondition } from "../controls.ts";
import { progressing, untilDeadline, withReplicaFailure } from "./deployment-progress.ts";
import {
  annotationsAt,
  byAge,
  isOfTemplate,
  newSetOf,
  olderThan,
  REVISION_ANNOTATION,
  revisionFor,
  sizeNotes,
  surplusOf,
} from "./deployment-sets.ts";
import { deploymentCounts, type RolloutStep, rolloutSteps, templateHash } from "./rollout.ts";

export function deploymentController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const deployments = mirrors.of(DEPLOYMENT);
  const sets = mirrors.of(REPLICA_SET);
  const recorder = createPartRecorder(deps, "deployment-controller");
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const deployment = deployments.get(`${namespace}/${name}`);
    if (deployment === undefined) return AWAIT_CHANGE;
    if (deployment.metadata.deletionTimestamp !== undefined) return report(deployment);
    const owned = setsOf(deployment);
    let current = owned.find((set) => isOfTemplate(set, deployment));
    const paused = deployment.spec.paused === true;
    if (current === undefined && !paused && mayCreate(deployment, owned)) {
      current = await createSet(deployment, owned);
    }
    if (current !== undefined) current = await renewRevision(deployment, current, owned);
    const steps = rolloutSteps(deployment, current, olderThan(current, setsOf(deployment)));
    for (const step of steps) await scaleSet(deployment, step);
    await noteDesired(deployment);
    await dropOldSets(deployment, current);
    return report(deployment);
  }

  function setsOf(deployment: Deployment): readonly ReplicaSet[] {
    const { uid, namespace } = deployment.metadata;
    return sets
      .list()
      .filter((set) => set.metadata.namespace === namespace && controllerOf(set)?.uid === uid)
      .sort(byAge);
  }

  /** Recreate waits until the old pods have gone, the terminating ones included. */
  function mayCreate(deployment: Deployment, owned: readonly ReplicaSet[]): boolean {
    if (deployment.spec.strategy?.type !== "Recreate") return true;
    return owned.every(
      (set) =>
        (set.spec.replicas ?? 0) === 0 &&
        podsOwnedBy(deps, set).every(
          ({ status }) => status?.phase === "Succeeded" || status?.phase === "Failed",
        ),
    );
  }

  async function createSet(
    deployment: Deployment,
    owned: readonly ReplicaSet[],
  ): Promise<ReplicaSet | undefined> {
    const collisions = Number(deployment.status?.["collisionCount"] ?? 0);
    const set = newSetOf(deployment, owned, templateHash(deployment.spec.template, collisions));
    try {
      const created = await kube.create(REPLICA_SET, set);
      const replicas = set.spec.replicas ?? 0;
      if (replicas > 0) tellScaled(deployment, created, 0, replicas);
      return created;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const existing = await kube.get(REPLICA_SET, {
        name: set.metadata.name,
        namespace: deployment.metadata.namespace,
      });
      const ours = controllerOf(existing)?.uid === deployment.metadata.uid;
      if (ours && isOfTemplate(existing, deployment)) return existing;
      // A hash collision: count it, so that the next hash differs.
      const status = { ...deployment.status, collisionCount: collisions + 1 };
      await patchObject(kube, DEPLOYMENT, deployment, { ...deployment, status });
      return undefined;
    }
  }

  /** The current set carries the highest revision; the Deployment shows it. */
  async function renewRevision(
    deployment: Deployment,
    current: ReplicaSet,
    owned: readonly ReplicaSet[],
  ): Promise<ReplicaSet> {
    const revision = revisionFor(current, owned);
    const annotations = annotationsAt(revision, current, deployment);
    let result = current;
    if (!deepEqual(annotations, current.metadata.annotations)) {
      const after = { ...current, metadata: { ...current.metadata, annotations } };
      result = (await patchObject(kube, REPLICA_SET, current, after)) ?? current;
    }
    if (deployment.metadata.annotations?.[REVISION_ANNOTATION] !== String(revision)) {
      const shown = { ...deployment.metadata.annotations, [REVISION_ANNOTATION]: String(revision) };
      // As a status: as a wish it would raise the generation.
      const { name, namespace } = deployment.metadata;
      const body = { metadata: { annotations: shown } };
      await kube.patch(DEPLOYMENT, { name, namespace }, { type: "merge", body }, "status");
    }
    return result;
  }

  async function scaleSet(deployment: Deployment, { set, replicas }: RolloutStep): Promise<void> {
    const from = set.spec.replicas ?? 0;
    if (from === replicas) return;
    const { name, namespace } = set.metadata;
    const body = { spec: { replicas } };
    await kube.patch(REPLICA_SET, { name, namespace }, { type: "merge", body });
    tellScaled(deployment, set, from, replicas);
  }

  function tellScaled(deployment: Deployment, set: ReplicaSet, from: number, to: number): void {
    const { name, namespace } = set.metadata;
    const direction = to > from ? "up" : "down";
    recorder.publish({
      object: subject(DEPLOYMENT, deployment),
      type: "Normal",
      reason: "ScalingReplicaSet",
      message: `Scaled ${direction} replica set ${name} from ${from} to ${to}`,
    });
    deps.trace?.({
      atMs: clock.now(),
      actor: "deployment-controller",
      verb: "scaled",
      object: `replicaset ${namespace}/${name}`,
      what: `from ${from} to ${to}`,
    });
  }

  /** Each set with pods notes the size it was last fitted to: that tells a resize from a rollout. */
  async function noteDesired(deployment: Deployment): Promise<void> {
    const size = sizeNotes(deployment);
    for (const set of setsOf(deployment)) {
      const annotations = { ...set.metadata.annotations, ...size };
      const isNoted = deepEqual(annotations, set.metadata.annotations);
      if ((set.spec.replicas ?? 0) === 0 || isNoted) continue;
      const metadata = { ...set.metadata, annotations };
      await patchObject(kube, REPLICA_SET, set, { ...set, metadata });
    }
  }

  /** Old sets beyond the history limit go, once they have no pods. */
  async function dropOldSets(
    deployment: Deployment,
    current: ReplicaSet | undefined,
  ): Promise<void> {
    for (const set of surplusOf(deployment, current, setsOf(deployment))) {
      const { name, namespace } = set.metadata;
      try {
        await kube.delete(REPLICA_SET, { name, namespace });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  async function report(before: Deployment): Promise<Outcome> {
    const key = `${before.metadata.namespace}/${before.metadata.name}`;
    const deployment = deployments.get(key);
    if (deployment === undefined) return AWAIT_CHANGE;
    const owned = setsOf(deployment);
    const current = owned.find((set) => isOfTemplate(set, deployment));
    const now = clock.now();
    const counts = deploymentCounts(deployment, current, owned);
    let conditions = deployment.status?.conditions ?? [];
    conditions = withWorkloadCondition(conditions, counts.available, now);
    const progress = progressing(deployment, current, owned, now);
    if (progress !== undefined) conditions = withWorkloadCondition(conditions, progress, now);
    conditions = withReplicaFailure(conditions, current, owned);
    const status = { ...deployment.status, ...counts.status, conditions };
    await patchObject(kube, DEPLOYMENT, deployment, { ...deployment, status } as Deployment);
    return untilDeadline(deployment, conditions, now);
  }

  function deploymentOf(pod: Pod): readonly Request[] {
    const owner = controllerOf(pod);
    if (owner?.kind !== "ReplicaSet") return [];
    const set = sets.get(`${pod.metadata.namespace}/${owner.name}`);
    return set === undefined ? [] : requestsToOwner("Deployment")(set);
  }

  return {
    name: "deployment",
    watches: [
      source(DEPLOYMENT),
      source(REPLICA_SET, requestsToOwner("Deployment")),
      // Recreate waits for the last old pod to be gone.
      source(POD, (pod, event) => (event === "removed" ? deploymentOf(pod) : [])),
    ],
    concurrency: 8,
    reconcile,
  };
}
