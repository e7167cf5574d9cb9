/**
 * The simulated kube-scheduler. It takes pending pods by priority and age, decides on its own view of the
 * cluster, and binds them or writes on them why they fit nowhere. A decision is synchronous and counts at once:
 * the pod is assumed on its node. Many bindings are sent at the same time.
 */
import { PERSISTENT_VOLUME_CLAIM, type PersistentVolumeClaim } from "../../apis/core/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import type { Condition } from "../../apis/meta.ts";
import { RESOURCE_CLAIM } from "../../apis/resource/kinds.ts";
import { toRfc3339 } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { turnIsOver } from "../../base/steps.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
} from "../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../parts.ts";
import { type ClusterView, watchCluster } from "./cluster-view.ts";
import { AssumedClaims, type ClaimWrite, claimWrites } from "./devices/assumed-claims.ts";
import { type Feasible, feasibleBeside } from "./feasible.ts";
import { planVolumes, type VolumePlan } from "./filters/volumes.ts";
import { unschedulableMessage } from "./message.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import { findPreemption, PREEMPTED_REASON } from "./preemption.ts";
import { DEFAULT_PROFILES, DEFAULT_SCHEDULER, type SchedulerProfile } from "./profiles.ts";
import type { Waiting } from "./queue.ts";
import { bestNode } from "./scores.ts";
import { isBound, podVolumes, SELECTED_NODE_ANNOTATION } from "./volumes.ts";

const REQUEST: Request = { kind: "Scheduler", name: DEFAULT_SCHEDULER };
/** Bindings in one batch. Other parts of the sandbox run between two batches. */
const BINDINGS_AT_ONCE = 64;
/** Milliseconds that a placed pod may wait for its volumes. Then it is scheduled again. */
const VOLUME_WAIT_MS = 600_000;

/** A placed pod whose volumes are being provisioned. */
interface AwaitingVolumes {
  readonly waiting: Waiting;
  readonly node: string;
  readonly untilMs: number;
}

/** Binds the pods of its profiles. Everything it needs comes from the mirrors. */
export function schedulerController(
  deps: PartDeps,
  profiles: readonly SchedulerProfile[] = DEFAULT_PROFILES,
): Controller {
  const scheduler = new Scheduler(deps, profiles);
  return {
    name: "kube-scheduler",
    watches: [],
    concurrency: 1,
    initialRequests: [REQUEST],
    listen: (add) => scheduler.view.onChange(() => add(REQUEST)),
    reconcile: () => scheduler.run(),
  };
}

class Scheduler {
  readonly view: ClusterView;
  readonly #deps: PartDeps;
  /** Event recorders, by the name of the profile. */
  readonly #recorders: ReadonlyMap<string, EventRecorder>;
  readonly #awaitingVolumes = new Map<string, AwaitingVolumes>();
  readonly #assumedClaims = new AssumedClaims();
  /** The writes to ResourceClaims that must come before the binding, by pod. */
  readonly #claimWrites = new Map<string, readonly ClaimWrite[]>();
  readonly #shares: Random;

  constructor(deps: PartDeps, profiles: readonly SchedulerProfile[]) {
    this.#deps = deps;
    this.#recorders = new Map(
      profiles.map(({ schedulerName }) => [schedulerName, createPartRecorder(deps, schedulerName)]),
    );
    this.#shares = deps.random.fork("scheduler/shares");
    this.view = watchCluster(deps, this.#assumedClaims, profiles);
  }

  async run(): Promise<Outcome> {
    const { clock } = this.#deps;
    const { queue } = this.view;
    await this.#finishVolumes();
    this.view.applyChanges(clock.now());
    let sending: Promise<void>[] = [];
    for (;;) {
      const waiting = queue.pop(clock.now());
      if (waiting === undefined) break;
      sending.push(this.#schedule(waiting));
      if (turnIsOver(clock)) await clock.sleep(0);
      if (sending.length < BINDINGS_AT_ONCE) continue;
      await Promise.all(sending);
      sending = [];
      this.view.applyChanges(clock.now());
    }
    await Promise.all(sending);
    const due = this.#nextDueMs();
    return due === undefined ? AWAIT_CHANGE : requeueAfter(Math.max(0, due - clock.now()));
  }

  /** When to run again if nothing changes before. */
  #nextDueMs(): number | undefined {
    const waits = [...this.#awaitingVolumes.values()].map(({ untilMs }) => untilMs);
    const retry = this.view.queue.nextDueMs();
    if (retry !== undefined) waits.push(retry);
    return waits.length === 0 ? undefined : Math.min(...waits);
  }

  /** Schedules one pod. The decision is synchronous; the promise is for the requests, and never rejects. */
  async #schedule(waiting: Waiting): Promise<void> {
    const { snapshot } = this.view;
    const { pod } = waiting;
    try {
      const result = feasibleBeside(pod, snapshot, this.view.nominatedBefore(pod));
      const promised = this.view.nominationOf(pod.key);
      const node =
        result.nodes.find(({ name }) => name === promised) ?? bestNode(pod, result.nodes, snapshot);
      if (node === undefined) {
        await this.#refuse(waiting, result);
        return;
      }
      const { devices } = snapshot.surroundings;
      const shareId = (): string => this.#shares.uuid();
      const writes = claimWrites(pod.pod, node, { devices, shareId });
      this.#assumedClaims.assume(writes);
      this.#claimWrites.set(pod.key, writes);
      this.view.assume(pod, node.name);
      await this.#place(waiting, node);
    } catch (error) {
      this.#fail(waiting, error);
    }
  }

  /** Writes to the pod's status that it fits nowhere, and preempts pods of lower priority if that helps. */
  async #refuse(waiting: Waiting, result: Feasible): Promise<void> {
    const { snapshot, queue } = this.view;
    const { pod } = waiting;
    const preemption = findPreemption(pod, result, snapshot);
    queue.giveUp(waiting, result.rejectedBy, this.#deps.clock.now());
    const message = unschedulableMessage(result, snapshot.nodes.length, preemption);
    if (preemption.kind === "preempt") {
      const { node, victims } = preemption.candidate;
      this.view.nominate(pod, node);
      await this.#report(pod, message, node);
      for (const lesser of this.view.nominatedBelow(pod, node)) await this.#disappoint(lesser);
      await Promise.all(victims.map((victim) => this.#sendAway(victim, pod, node)));
      return;
    }
    const keeps = preemption.waits === true ? this.view.nominationOf(pod.key) : undefined;
    this.view.nominate(pod, keeps);
    await this.#report(pod, message, keeps);
  }

  /** Preempts a pod: deletes it for a pod of higher priority. */
  async #sendAway(victim: PodInfo, preemptor: PodInfo, node: string): Promise<void> {
    const current = podMirror(this.#deps.mirrors).get(victim.key) ?? victim.pod;
    if (current.metadata.deletionTimestamp !== undefined) return;
    const { name, namespace, uid } = current.metadata;
    const condition: Condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: PREEMPTED_REASON,
      message: `${schedulerOf(preemptor)}: preempting to accommodate a higher priority pod`,
      lastTransitionTime: toRfc3339(this.#deps.clock.now()),
    };
    try {
      await patchObject(this.#deps.kube, POD, current, withCondition(current, condition));
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await this.#deps.kube.delete(POD, { name, namespace }, preconditions);
    } catch (error) {
      // After another error the victim still exists, and the next attempt of the preemptor finds it.
      if (!isNotFound(error))
        this.#deps.log.warn("preempting a pod failed", { Pod: victim.key, error: String(error) });
      return;
    }
    this.#recorders.get(schedulerOf(preemptor))?.publish({
      object: subject(POD, current),
      type: "Normal",
      reason: "Preempted",
      message: `Preempted by pod ${preemptor.uid} on node ${node}`,
    });
    this.#trace("preempted", victim, `for ${preemptor.key} on ${node}`);
  }

  /** Removes the nomination of a pod of lower priority, whose node was taken. */
  async #disappoint(pod: PodInfo): Promise<void> {
    this.view.nominate(pod, undefined);
    const current = podMirror(this.#deps.mirrors).get(pod.key);
    if (current?.status?.nominatedNodeName === undefined) return;
    const { nominatedNodeName: _, ...status } = current.status;
    try {
      await patchObject(this.#deps.kube, POD, current, { ...current, status });
    } catch (error) {
      this.#deps.log.debug("clearing nominatedNodeName failed", {
        Pod: pod.key,
        error: String(error),
      });
    }
  }

  async #place(waiting: Waiting, node: NodeInfo): Promise<void> {
    const objects = this.view.snapshot.surroundings.volumes;
    const volumes = podVolumes(waiting.pod, objects);
    if (!("message" in volumes) && volumes.delayed.length > 0) {
      const plan = planVolumes(volumes.delayed, node, objects);
      const untilMs = this.#deps.clock.now() + VOLUME_WAIT_MS;
      this.#awaitingVolumes.set(waiting.pod.key, { waiting, node: node.name, untilMs });
      if (plan !== undefined) await this.#startVolumes(plan, node.name);
      return;
    }
    await this.#bind(waiting, node.name);
  }

  async #bind({ pod }: Waiting, nodeName: string): Promise<void> {
    const { name, namespace, uid } = pod.pod.metadata;
    for (const { before, after } of this.#claimWrites.get(pod.key) ?? []) {
      const written = await patchObject(this.#deps.kube, RESOURCE_CLAIM, before, after);
      if (written === undefined) throw new Error(`claim ${after.metadata.name} is gone`);
    }
    this.#forgetClaims(pod.key);
    await this.#deps.kube.bind({ name, namespace, uid }, nodeName);
    this.#recorders.get(schedulerOf(pod))?.publish({
      object: subject(POD, pod.pod),
      type: "Normal",
      reason: "Scheduled",
      message: `Successfully assigned ${pod.namespace}/${name} to ${nodeName}`,
    });
    this.#trace("bound", pod, `to ${nodeName}`);
  }

  #forgetClaims(podKey: string): void {
    this.#assumedClaims.forget(this.#claimWrites.get(podKey) ?? []);
    this.#claimWrites.delete(podKey);
  }

  /** Writes the chosen node or volume to each claim, for the volume binder. */
  async #startVolumes(plan: VolumePlan, nodeName: string): Promise<void> {
    const annotate = (claim: PersistentVolumeClaim, key: string, value: string): Promise<unknown> =>
      patchObject(this.#deps.kube, PERSISTENT_VOLUME_CLAIM, claim, {
        ...claim,
        metadata: {
          ...claim.metadata,
          annotations: { ...claim.metadata.annotations, [key]: value },
        },
      });
    for (const claim of plan.provisioned) {
      await annotate(claim, SELECTED_NODE_ANNOTATION, nodeName);
    }
    for (const { claim, volume } of plan.matched) {
      await patchObject(this.#deps.kube, PERSISTENT_VOLUME_CLAIM, claim, {
        ...claim,
        spec: { ...claim.spec, volumeName: volume.metadata.name },
      });
    }
  }

  /** Binds pods whose volumes are ready now; schedules pods again that waited too long. */
  async #finishVolumes(): Promise<void> {
    const now = this.#deps.clock.now();
    const objects = this.view.snapshot.surroundings.volumes;
    for (const [key, { waiting, node, untilMs }] of [...this.#awaitingVolumes]) {
      const { pod } = waiting;
      if (!this.view.isAssumed(key)) {
        this.#awaitingVolumes.delete(key);
        this.#forgetClaims(key);
        continue;
      }
      const ready = pod.claims.every((name) => {
        const claim = objects.claim(pod.namespace, name);
        return claim !== undefined && isBound(claim);
      });
      if (!ready && now < untilMs) continue;
      this.#awaitingVolumes.delete(key);
      try {
        if (!ready) throw new Error(`binding volumes: timed out after ${VOLUME_WAIT_MS / 1_000}s`);
        await this.#bind(waiting, node);
      } catch (error) {
        this.#fail(waiting, error);
      }
    }
  }

  #fail(waiting: Waiting, error: unknown): void {
    const { pod } = waiting;
    this.view.forget(pod.key);
    this.#forgetClaims(pod.key);
    this.#awaitingVolumes.delete(pod.key);
    if (isNotFound(error)) return;
    this.#deps.log.warn("scheduling pod failed", { Pod: pod.key, error: String(error) });
    if (this.view.isWaiting(pod.key)) this.view.queue.retryLater(waiting, this.#deps.clock.now());
  }

  /** Writes why the pod waits, as a condition and an Event, unless that is already written. */
  async #report(pod: PodInfo, message: string, nominated: string | undefined): Promise<void> {
    const current = podMirror(this.#deps.mirrors).get(pod.key) ?? pod.pod;
    const known = current.status?.conditions?.find(({ type }) => type === "PodScheduled");
    const same = (current.status?.nominatedNodeName ?? "") === (nominated ?? "");
    if (known?.reason === "Unschedulable" && known.message === message && same) return;
    this.#trace("pending", pod, message);
    this.#recorders.get(schedulerOf(pod))?.publish({
      object: subject(POD, pod.pod),
      type: "Warning",
      reason: "FailedScheduling",
      message,
    });
    const after = withUnschedulable(current, known, { message, nominated }, this.#deps.clock.now());
    try {
      await patchObject(this.#deps.kube, POD, current, after);
    } catch (error) {
      // The pod waits in any case, and its next attempt writes the condition.
      this.#deps.log.debug("writing PodScheduled failed", { Pod: pod.key, error: String(error) });
    }
  }

  #trace(verb: string, pod: PodInfo, what: string): void {
    const atMs = this.#deps.clock.now();
    this.#deps.trace?.({ atMs, actor: "scheduler", verb, object: `pod ${pod.key}`, what });
  }
}

/** The name of the profile that schedules the pod. */
function schedulerOf({ pod }: PodInfo): string {
  return pod.spec.schedulerName ?? DEFAULT_SCHEDULER;
}

function withUnschedulable(
  pod: Pod,
  known: Condition | undefined,
  said: { readonly message: string; readonly nominated: string | undefined },
  nowMs: number,
): Pod {
  const { message, nominated } = said;
  const condition: Condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message,
    lastTransitionTime:
      known?.status === "False" && known.lastTransitionTime !== undefined
        ? known.lastTransitionTime
        : toRfc3339(nowMs),
  };
  const { nominatedNodeName: _, ...status } = withCondition(pod, condition).status ?? {};
  return {
    ...pod,
    status: { ...status, ...(nominated === undefined ? {} : { nominatedNodeName: nominated }) },
  };
}

function withCondition(pod: Pod, condition: Condition): Pod {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}
