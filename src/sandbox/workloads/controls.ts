/**
 * What the workload controllers share: making pods from a template, owning them, telling ready from
 * available, and writing status only when it differs.
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

/** Creations in flight at once, in growing batches: a template that is refused is met early. */
const FIRST_BATCH = 1;

/** The owner reference of a controller to what it makes. */
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

/** The owner's name with a random tail; cut to what a host name allows, as the API server does. */
export function generatedName(owner: KubeObject, random: Random): PodName {
  const generateName = `${owner.metadata.name}-`;
  return { generateName, name: generateName.slice(0, 58) + random.suffix() };
}

/** A pod of a template, owned by `owner`. */
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

/** The owner of kind `kindName` that a pod change concerns: for `source`. */
export function requestsToOwner(kindName: string): (object: KubeObject) => Request[] {
  return (object) => {
    const owner = controllerOf(object);
    if (owner?.kind !== kindName) return [];
    return [{ kind: kindName, namespace: object.metadata.namespace, name: owner.name }];
  };
}

/** Neither ended nor leaving. */
export function activePods(pods: readonly Pod[]): readonly Pod[] {
  return pods.filter((pod) => isActive(pod));
}

/** Ready for at least `minReadySeconds`. */
export function isAvailable(pod: Pod, minReadySeconds: number | undefined, nowMs: number): boolean {
  if (!isReady(pod)) return false;
  const dueMs = availableAtMs(pod, minReadySeconds);
  return dueMs !== undefined && dueMs <= nowMs;
}

/** When a ready pod counts as available; undefined while it is not ready. */
export function availableAtMs(pod: Pod, minReadySeconds: number | undefined): number | undefined {
  if (!isReady(pod)) return undefined;
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return (fromRfc3339(ready?.lastTransitionTime) ?? 0) + (minReadySeconds ?? 0) * 1_000;
}

/** Looks again when the next ready pod becomes available by time alone. */
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

/** Runs `tasks` in batches that double from one; stops after a batch with a failure and rethrows it. */
export async function slowStart(tasks: readonly (() => Promise<unknown>)[]): Promise<void> {
  let batch = FIRST_BATCH;
  for (let at = 0; at < tasks.length; at += batch, batch *= 2) {
    if (at > 0 && batch > tasks.length) batch = tasks.length;
    const results = await Promise.allSettled(tasks.slice(at, at + batch).map((task) => task()));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}

/** Deletes a pod; one that is gone is fine. */
async function deletePod(deps: PartDeps, pod: Pod): Promise<void> {
  const { uid } = pod.metadata;
  await deleteIfThere(deps.kube, POD, pod, uid === undefined ? {} : { preconditions: { uid } });
}

/** Creates a pod and says so on its owner, as the real controllers do. */
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

/** What the server said, as client-go's errors tell it: without what was asked. */
export function answerOf(error: unknown): string {
  if (error instanceof KubeError && error.body?.message !== undefined) return error.body.message;
  return errorText(error);
}

/** Deletes a pod and says so on its owner. */
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

/** StatefulSets speak of their pods in other words than the rest. */
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
 * A number or a percentage of `total`: `3`, `"25%"`. Percentages are rounded up or down. Text that is
 * neither counts as 0: validation is the API server's.
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

/** Of a ReplicaSet whose pods cannot be made, and of its Deployment. */
export const REPLICA_FAILURE = "ReplicaFailure";

/** Sets a workload condition; the times move as Deployment's do. */
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

/** A pacer of the objects of a mirror: it forgets those that go. */
export function pacerOf<T extends KubeObject>(mirror: Mirror<T>, msPerPod: number): Pacer {
  const pacer = new Pacer(msPerPod);
  mirror.on((event, object) => {
    if (event === "removed") pacer.forget(object);
  });
  return pacer;
}

/**
 * Spaces out the work on one object whose pods change in crowds: with many pods, changes of the same
 * few milliseconds are looked at once. Counting a thousand pods at each of their thousand changes
 * would be most of a burst's cost.
 */
class Pacer {
  readonly #lastMs = new Map<string, { atMs: number; version: string | undefined }>();
  readonly #msPerPod: number;

  constructor(msPerPod: number) {
    this.#msPerPod = msPerPod;
  }

  /** How long to wait before looking at `object` again; 0 = now. A changed object never waits. */
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
