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
} from "../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { type Condition, controllerOf, createdAtMs } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { deepEqual } from "../../base/json.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { isAlreadyExists, isNotFound } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../parts.ts";
import {
  ownerReference,
  podsOwnedBy,
  REPLICA_FAILURE,
  requestsToOwner,
  withWorkloadCondition,
} from "./controls.ts";
import {
  deploymentCounts,
  firstReplicas,
  type RolloutStep,
  rolloutSteps,
  sumOf,
  templateHash,
} from "./rollout.ts";

const REVISION_ANNOTATION = "deployment.kubernetes.io/revision";
const HISTORY_ANNOTATION = "deployment.kubernetes.io/revision-history";
const DESIRED_ANNOTATION = "deployment.kubernetes.io/desired-replicas";
const MAX_ANNOTATION = "deployment.kubernetes.io/max-replicas";
const HASH_LABEL = "pod-template-hash";
const NOT_COPIED = [
  "kubectl.kubernetes.io/last-applied-configuration",
  REVISION_ANNOTATION,
  HISTORY_ANNOTATION,
  DESIRED_ANNOTATION,
  MAX_ANNOTATION,
];

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
    const hash = templateHash(deployment.spec.template, collisions);
    const { template, selector, minReadySeconds } = deployment.spec;
    const { namespace, name } = deployment.metadata;
    const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
    const replicas = firstReplicas(deployment, owned);
    const set: ReplicaSet = {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: `${name}-${hash}`,
        ...(namespace === undefined ? {} : { namespace }),
        labels,
        annotations: annotationsOf(deployment, nextRevision(owned)),
        ownerReferences: [ownerReference(DEPLOYMENT, deployment)],
      },
      spec: {
        replicas,
        ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector.matchLabels, [HASH_LABEL]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
    try {
      const created = await kube.create(REPLICA_SET, set);
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
    const older = olderThan(current, owned);
    const highest = Math.max(0, ...older.map(revisionOf));
    const revision = Math.max(revisionOf(current), highest + (older.length > 0 ? 1 : 0), 1);
    const wanted = annotationsOf(deployment, revision);
    const annotations = {
      ...current.metadata.annotations,
      ...wanted,
      ...pastRevisions(current, revision),
    };
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
    const replicas = deployment.spec.replicas ?? 1;
    const desired = String(replicas);
    for (const set of setsOf(deployment)) {
      if ((set.spec.replicas ?? 0) === 0) continue;
      if (set.metadata.annotations?.[DESIRED_ANNOTATION] === desired) continue;
      const annotations = {
        ...set.metadata.annotations,
        [DESIRED_ANNOTATION]: desired,
        [MAX_ANNOTATION]: String(replicas + surgeOf(deployment)),
      };
      await patchObject(kube, REPLICA_SET, set, {
        ...set,
        metadata: { ...set.metadata, annotations },
      });
    }
  }

  /** Old sets beyond the history limit go, once they have no pods. */
  async function dropOldSets(
    deployment: Deployment,
    current: ReplicaSet | undefined,
  ): Promise<void> {
    const limit = deployment.spec.revisionHistoryLimit ?? 10;
    const idle = olderThan(current, setsOf(deployment)).filter(
      (set) =>
        (set.spec.replicas ?? 0) === 0 &&
        (set.status?.replicas ?? 0) === 0 &&
        set.metadata.deletionTimestamp === undefined,
    );
    const surplus = [...idle].sort((a, b) => revisionOf(a) - revisionOf(b));
    for (const set of surplus.slice(0, Math.max(0, surplus.length - limit))) {
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

function byAge(a: ReplicaSet, b: ReplicaSet): number {
  return createdAtMs(a) - createdAtMs(b) || (a.metadata.name < b.metadata.name ? -1 : 1);
}

/** What the newest set cannot do, or else another one. upstream: pkg/controller/deployment getReplicaFailures */
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

function olderThan(
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
): readonly ReplicaSet[] {
  return owned.filter((set) => set.metadata.name !== current?.metadata.name);
}

/** Same template, the hash label aside. */
function isOfTemplate(set: ReplicaSet, deployment: Deployment): boolean {
  const { [HASH_LABEL]: _, ...labels } = set.spec.template.metadata?.labels ?? {};
  const template = {
    ...set.spec.template,
    metadata: { ...set.spec.template.metadata, labels },
  };
  const own = deployment.spec.template;
  const wanted = { ...own, metadata: { ...own.metadata, labels: own.metadata?.labels ?? {} } };
  return deepEqual(template, wanted);
}

function revisionOf(set: ReplicaSet): number {
  return Number(set.metadata.annotations?.[REVISION_ANNOTATION] ?? 0) || 0;
}

/** A set that becomes the newest again keeps the numbers that it had. */
function pastRevisions(set: ReplicaSet, revision: number): Record<string, string> {
  const before = revisionOf(set);
  if (before === 0 || before >= revision) return {};
  const known = set.metadata.annotations?.[HISTORY_ANNOTATION];
  return { [HISTORY_ANNOTATION]: known === undefined ? String(before) : `${known},${before}` };
}

function nextRevision(owned: readonly ReplicaSet[]): number {
  return Math.max(0, ...owned.map(revisionOf)) + 1;
}

function annotationsOf(deployment: Deployment, revision: number): Record<string, string> {
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([key]) => !NOT_COPIED.includes(key),
  );
  const replicas = deployment.spec.replicas ?? 1;
  return {
    ...Object.fromEntries(copied),
    [REVISION_ANNOTATION]: String(revision),
    [DESIRED_ANNOTATION]: String(replicas),
    [MAX_ANNOTATION]: String(replicas + surgeOf(deployment)),
  };
}

function surgeOf(deployment: Deployment): number {
  return sumOf(deployment).maxSurge;
}

interface Progress {
  readonly type: "Progressing";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

const DEFAULT_DEADLINE_S = 600;

/** What is to be said of the rollout now; undefined when it stands as it is. */
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
  // Between the old pods and the new ones of a Recreate there is nothing to tell of.
  if (current === undefined) return undefined;
  // A finished rollout stays so while replicas come and go.
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

/** A rollout under way is looked at again when its deadline passes. */
function untilDeadline(
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
