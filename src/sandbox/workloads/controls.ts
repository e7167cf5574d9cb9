/**
 * Functions that the workload controllers share: creating pods from a template, owning them, counting ready
 * and available pods, and writing a status only if it changed.
 */

import type { PodTemplateSpec } from "../../apis/apps/kinds.ts";
import { isActive, POD, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import {
  apiVersionOf,
  type Condition,
  controllerOf,
  type Kind,
  type KubeObject,
  keyOf,
  type OwnerReference,
} from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { errorText } from "../../base/error-text.ts";
import type { Random } from "../../base/random.ts";
import { deleteIfThere } from "../../kube/client/delete-if-there.ts";
import { KubeError } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import type { Mirror } from "../../kube/mirror/mirror.ts";
import { type PartDeps, PODS_BY_OWNER, podMirror, subject } from "../parts.ts";

/** Number of pods in the first batch. Batches grow, so that a template that the server refuses fails early. */
const FIRST_BATCH = 1;

/** The owner reference to a controller's object. */
export function ownerReference<T extends KubeObject>(kind: Kind<T>, owner: T): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** A fixed name, or a prefix for a generated one. */
export type PodName = Pick<Pod["metadata"], "name" | "generateName">;

/**
 * A generated name and its prefix for an object of `owner`. The prefix is cut as the API server does, so that
 * host names stay valid.
 */
export function generatedName(owner: KubeObject, random: Random): PodName {
  const generateName = `${owner.metadata.name}-`;
  return { generateName, name: generateName.slice(0, 58) + random.suffix() };
}

/** Makes a pod from a template, owned by `owner`. */
export function podOf<T extends KubeObject>(
  kind: Kind<T>,
  owner: T,
  template: PodTemplateSpec,
  name: PodName,
): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  const { namespace } = owner.metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [ownerReference(kind, owner)],
    },
    spec: template.spec,
  };
}

/** Pods that `owner` controls, by key. */
export function podsOwnedBy(deps: PartDeps, owner: KubeObject): readonly Pod[] {
  return podMirror(deps.mirrors).byIndex(PODS_BY_OWNER, owner.metadata.uid ?? "");
}

/** Maps a changed pod to the reconcile request for its owner, if the owner is of kind `kindName`. */
export function requestsToOwner(kindName: string): (object: KubeObject) => Request[] {
  return (object) => {
    const owner = controllerOf(object);
    if (owner?.kind !== kindName) return [];
    return [{ kind: kindName, namespace: object.metadata.namespace, name: owner.name }];
  };
}

/** Pods that have not ended and are not being deleted. */
export function activePods(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => isActive(pod));
}

/** Whether the pod has been ready for at least `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number | undefined, nowMs: number): boolean {
  if (!isReady(pod)) return false;
  const dueMs = availableAtMs(pod, minReadySeconds);
  return dueMs !== undefined && dueMs <= nowMs;
}

/** When a ready pod counts as available. Undefined if it is not ready. */
export function availableAtMs(pod: Pod, minReadySeconds: number | undefined): number | undefined {
  if (!isReady(pod)) return undefined;
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return (fromRfc3339(ready?.lastTransitionTime) ?? 0) + (minReadySeconds ?? 0) * 1_000;
}

/** Schedules a reconcile for the time at which the next ready pod becomes available. */
export function untilAvailable(
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

/** Runs `tasks` in batches of 1, 2, 4 and so on. Stops after a batch with a failure and rethrows the error. */
export async function slowStart(tasks: readonly (() => Promise<unknown>)[]): Promise<void> {
  let batch = FIRST_BATCH;
  for (let at = 0; at < tasks.length; at += batch, batch *= 2) {
    if (at > 0 && batch > tasks.length) batch = tasks.length;
    const results = await Promise.allSettled(tasks.slice(at, at + batch).map((task) => task()));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

/** Deletes a pod. Does nothing if it is gone already. */
async function deletePod(deps: PartDeps, pod: Pod): Promise<void> {
  const { uid } = pod.metadata;
  await deleteIfThere(deps.kube, POD, pod, uid === undefined ? {} : { preconditions: { uid } });
}

/** Creates a pod, and an Event on its owner. */
export async function createPod<T extends KubeObject>(
  deps: PartDeps,
  recorder: EventRecorder,
  kind: Kind<T>,
  owner: T,
  pod: Pod,
): Promise<Pod> {
  const object = subject(kind, owner);
  try {
    const created = await deps.kube.create(POD, pod);
    const message = told(kind, owner, "create", created);
    recorder.publish({ object, type: "Normal", reason: "SuccessfulCreate", message });
    deps.trace?.({
      atMs: deps.clock.now(),
      actor: actorOf(kind),
      verb: "created",
      object: `pod ${keyOf(created)}`,
      what: `for ${kind.kind.toLowerCase()} ${owner.metadata.name}`,
    });
    return created;
  } catch (error) {
    const message = `Error creating: ${answerOf(error)}`;
    recorder.publish({ object, type: "Warning", reason: "FailedCreate", message });
    throw error;
  }
}

/** The server's error message alone. `KubeError` puts the request in front of it; client-go does not. */
export function answerOf(error: unknown): string {
  if (error instanceof KubeError && error.body?.message !== undefined) return error.body.message;
  return errorText(error);
}

/** Deletes a pod, and creates an Event on its owner. */
export async function removePod<T extends KubeObject>(
  deps: PartDeps,
  recorder: EventRecorder,
  kind: Kind<T>,
  owner: T,
  pod: Pod,
): Promise<void> {
  await deletePod(deps, pod);
  const message = told(kind, owner, "delete", pod);
  const object = subject(kind, owner);
  recorder.publish({ object, type: "Normal", reason: "SuccessfulDelete", message });
  deps.trace?.({
    atMs: deps.clock.now(),
    actor: actorOf(kind),
    verb: "deleted",
    object: `pod ${keyOf(pod)}`,
    what: `for ${kind.kind.toLowerCase()} ${owner.metadata.name}`,
  });
}

/** The text of the Event. StatefulSets have another text than all other kinds. */
function told<T extends KubeObject>(
  kind: Kind<T>,
  owner: T,
  verb: "create" | "delete",
  pod: Pod,
): string {
  const { name } = pod.metadata;
  if (kind.kind === "StatefulSet")
    return `${verb} Pod ${name} in StatefulSet ${owner.metadata.name} successful`;
  return verb === "create" ? `Created pod: ${name}` : `Deleted pod: ${name}`;
}

function actorOf(kind: Kind): string {
  return `${kind.kind.toLowerCase()}-controller`;
}

/**
 * A number or a percentage of `total`: `3`, `"25%"`. Percentages are rounded up or down. Other text counts as
 * 0, because validation is the API server's task.
 */
export function scaledValue(
  value: number | string | undefined,
  total: number,
  rounding: "up" | "down",
): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return value;
  const match = /^(\d+)%$/.exec(value);
  if (match === null) return /^\d+$/.test(value) ? Number(value) : 0;
  const exact = (Number(match[1]) * total) / 100;
  return rounding === "up" ? Math.ceil(exact) : Math.floor(exact);
}

/** Condition of a ReplicaSet whose pods cannot be created, and of its Deployment. */
export const REPLICA_FAILURE = "ReplicaFailure";

/** Sets a condition of a workload, with the times of Deployment conditions. */
export function withWorkloadCondition(
  conditions: readonly Condition[],
  next: Pick<Condition, "type" | "status"> & {
    readonly reason?: string;
    readonly message?: string;
  },
  nowMs: number,
): readonly Condition[] {
  const known = conditions.find(({ type }) => type === next.type);
  if (
    known?.status === next.status &&
    known.reason === next.reason &&
    known.message === next.message
  ) {
    return conditions;
  }
  const at = toRfc3339(nowMs);
  const changed = {
    ...next,
    lastUpdateTime: at,
    lastTransitionTime: known?.status === next.status ? (known.lastTransitionTime ?? at) : at,
  };
  return known === undefined
    ? [...conditions, changed]
    : conditions.map((one) => (one === known ? changed : one));
}

/** A pacer for the objects of a mirror. It forgets deleted objects. */
export function pacerOf<T extends KubeObject>(mirror: Mirror<T>, msPerPod: number): Pacer {
  const pacer = new Pacer(msPerPod);
  mirror.on((event, object) => {
    if (event === "removed") pacer.forget(object);
  });
  return pacer;
}

/**
 * Limits how often an object with many pods is reconciled: the more pods, the longer the pause. Otherwise a
 * burst of a thousand pods would cause a thousand reconciles, each of which counts a thousand pods.
 */
class Pacer {
  readonly #lastMs = new Map<string, { atMs: number; version: string | undefined }>();
  readonly #msPerPod: number;

  constructor(msPerPod: number) {
    this.#msPerPod = msPerPod;
  }

  /**
   * Milliseconds to wait before the next reconcile of `object`; 0 means now. An object with a new generation
   * never waits.
   */
  waitMs(object: KubeObject, pods: number, nowMs: number): number {
    const key = object.metadata.uid ?? keyOf(object);
    const version = String(object.metadata.generation);
    const last = this.#lastMs.get(key);
    const spacing = Math.floor(pods * this.#msPerPod);
    if (last !== undefined && last.version === version && nowMs < last.atMs + spacing) {
      return last.atMs + spacing - nowMs;
    }
    this.#lastMs.set(key, { atMs: nowMs, version });
    return 0;
  }

  forget(object: KubeObject): void {
    this.#lastMs.delete(object.metadata.uid ?? keyOf(object));
  }
}
