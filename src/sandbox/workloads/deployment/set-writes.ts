/**
 * A Deployment's writes to its ReplicaSets: creates the set of its template, writes sizes, revisions and
 * annotations, and deletes sets beyond its history limit. deployment-sets.ts and rollout.ts decide what is written.
 */
import {
  DEPLOYMENT,
  type Deployment,
  REPLICA_SET,
  type ReplicaSet,
} from "../../../apis/apps/kinds.ts";
import { controllerOf, keyOf } from "../../../apis/meta.ts";
import { deepEqual } from "../../../base/json.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import type { EventRecorder } from "../../../kube/events/events.ts";
import { type PartDeps, subject } from "../../parts.ts";
import {
  annotationsAt,
  isOfTemplate,
  newSetOf,
  REVISION_ANNOTATION,
  revisionFor,
  sizeNotes,
} from "./deployment-sets.ts";
import { type RolloutStep, templateHash } from "./rollout.ts";

/** The dependencies for writing ReplicaSets and their events. */
export interface SetParts extends Pick<PartDeps, "clock" | "kube" | "trace"> {
  readonly recorder: EventRecorder;
}

/** Creates the set of the template. Undefined: another set has its name; the next attempt uses another name. */
export async function createSet(
  parts: SetParts,
  deployment: Deployment,
  owned: readonly ReplicaSet[],
): Promise<ReplicaSet | undefined> {
  const { kube } = parts;
  const collisions = Number(deployment.status?.["collisionCount"] ?? 0);
  const set = newSetOf(deployment, owned, templateHash(deployment.spec.template, collisions));
  try {
    const created = await kube.create(REPLICA_SET, set);
    const replicas = set.spec.replicas ?? 0;
    if (replicas > 0) tellScaled(parts, deployment, created, 0, replicas);
    return created;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const { namespace } = deployment.metadata;
  const existing = await kube.get(REPLICA_SET, { name: set.metadata.name, namespace });
  const ours = controllerOf(existing)?.uid === deployment.metadata.uid;
  if (ours && isOfTemplate(existing, deployment)) return existing;
  // A hash collision: count it, so that the next hash differs.
  const status = { ...deployment.status, collisionCount: collisions + 1 };
  await patchObject(kube, DEPLOYMENT, deployment, { ...deployment, status });
  return undefined;
}

/** Writes the highest revision to the current set, and the same one to the Deployment. */
export async function renewRevision(
  { kube }: SetParts,
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
    // The annotation is written through the status subresource, because a write of the spec would raise the generation.
    const { name, namespace } = deployment.metadata;
    const body = { metadata: { annotations: shown } };
    await kube.patch(DEPLOYMENT, { name, namespace }, { type: "merge", body }, "status");
  }
  return result;
}

/** Writes the replicas of a ReplicaSet, and an event about it. */
export async function scaleSet(
  parts: SetParts,
  deployment: Deployment,
  { set, replicas }: RolloutStep,
): Promise<void> {
  const from = set.spec.replicas ?? 0;
  if (from === replicas) return;
  const { name, namespace } = set.metadata;
  const body = { spec: { replicas } };
  await parts.kube.patch(REPLICA_SET, { name, namespace }, { type: "merge", body });
  tellScaled(parts, deployment, set, from, replicas);
}

function tellScaled(
  { clock, recorder, trace }: SetParts,
  deployment: Deployment,
  set: ReplicaSet,
  from: number,
  to: number,
): void {
  recorder.publish({
    object: subject(DEPLOYMENT, deployment),
    type: "Normal",
    reason: "ScalingReplicaSet",
    message: `Scaled ${to > from ? "up" : "down"} replica set ${set.metadata.name} from ${from} to ${to}`,
  });
  trace?.({
    atMs: clock.now(),
    actor: "deployment-controller",
    verb: "scaled",
    object: `replicaset ${keyOf(set)}`,
    what: `from ${from} to ${to}`,
  });
}

/** Writes the wanted size on each set with pods. By this the controller distinguishes a resize from a rollout. */
export async function noteDesired(
  { kube }: SetParts,
  deployment: Deployment,
  owned: readonly ReplicaSet[],
): Promise<void> {
  const size = sizeNotes(deployment);
  for (const set of owned) {
    const annotations = { ...set.metadata.annotations, ...size };
    const isNoted = deepEqual(annotations, set.metadata.annotations);
    if ((set.spec.replicas ?? 0) === 0 || isNoted) continue;
    const metadata = { ...set.metadata, annotations };
    await patchObject(kube, REPLICA_SET, set, { ...set, metadata });
  }
}

/** Deletes old ReplicaSets beyond the history limit. */
export async function dropSets({ kube }: SetParts, surplus: readonly ReplicaSet[]): Promise<void> {
  for (const set of surplus) await deleteIfThere(kube, REPLICA_SET, set);
}
