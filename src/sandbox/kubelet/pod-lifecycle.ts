/**
 * What simulated kubelets do with pods on their nodes: create the containers, report them as running and ready, end
 * those with a set run time, and stop them within their grace period when the pod is deleted. Annotations control it
 * (README.md).
 */
import { NODE, type Node } from "../../apis/core/node.ts";
import { POD, type Pod, type PodStatus } from "../../apis/core/pod.ts";
import { keyOf } from "../../apis/meta.ts";
import { fromRfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import { patchObject } from "../../kube/client/patch-object.ts";
import { isConflict, isNotFound } from "../../kube/errors.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/manager/controller.ts";
import { createPartRecorder, PODS_BY_NODE, podMirror, subject } from "../parts.ts";
import { isNodeReady } from "./join.ts";
import type { Kubelets } from "./machines.ts";
import {
  backingOffStatus,
  creatingStatus,
  endedLast,
  endedStatus,
  type PodPlace,
  restartedStatus,
  restarts,
  runningSince,
  runningStatus,
} from "./pod-status.ts";
import { stopsWithinMs } from "./stopping.ts";

/** How long containers run before they end by themselves: `30s`. */
const RUN_FOR_ANNOTATION = "karpenter-ts.sandbox/run-for";
/** The exit code of containers that end by themselves. Default 0. */
const EXIT_CODE_ANNOTATION = "karpenter-ts.sandbox/exit-code";
/** How long containers take to stop when their pod is deleted: `30s`. */
const STOP_AFTER_ANNOTATION = "karpenter-ts.sandbox/stop-after";
/** How long it takes to create the containers: `30s`. */
const START_AFTER_ANNOTATION = "karpenter-ts.sandbox/start-after";

/** Milliseconds before containers that ended for the second time restart. The wait doubles with each further end. */
const FIRST_BACK_OFF_MS = 10_000;
const LONGEST_BACK_OFF_MS = 5 * 60_000;
/** After a run of more than this many milliseconds, ended containers restart without a wait. */
const MADE_GOOD_AFTER_MS = 2 * LONGEST_BACK_OFF_MS;

/**
 * How long ended containers wait for their restart. upstream: pkg/kubelet/kuberuntime (doBackOff),
 * client-go's flowcontrol.Backoff
 */
function backOffMs(restartsBefore: number, ranMs: number): number {
  if (restartsBefore === 0 || ranMs > MADE_GOOD_AFTER_MS) return 0;
  return Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** (restartsBefore - 1));
}

/** Creates, runs and stops the containers of bound pods. */
export function podLifecycleController(kubelets: Kubelets): Controller {
  const runner = new PodRunner(kubelets);
  return {
    name: "kubelet.pod",
    watches: [
      source(POD, (pod, event) => {
        if (event === "removed") runner.forget(pod);
        return event === "removed" || pod.spec.nodeName === undefined
          ? []
          : [requestFor("Pod", pod)];
      }),
      source(NODE, (node, event, before) => {
        const woke = isNodeReady(node) && (before === undefined || !isNodeReady(before));
        return event !== "removed" && woke
          ? runner.podsOn(node).map((pod) => requestFor("Pod", pod))
          : [];
      }),
    ],
    concurrency: 64,
    reconcile: ({ namespace, name }) => runner.run(`${namespace}/${name}`),
  };
}

class PodRunner {
  readonly #kubelets: Kubelets;
  readonly #recorder: EventRecorder;
  readonly #ips = new Map<string, string>();
  /** When a kubelet took each pod, in epoch milliseconds, by UID. Times on objects are only exact to the second. */
  readonly #takenAt = new Map<string, number>();
  readonly #stoppingSince = new Map<string, number>();
  #nextIp = 2;

  constructor(kubelets: Kubelets) {
    this.#kubelets = kubelets;
    this.#recorder = createPartRecorder(kubelets.deps, "kubelet");
    podMirror(kubelets.deps.mirrors);
  }

  podsOn(node: Node): readonly Pod[] {
    return podMirror(this.#kubelets.deps.mirrors).byIndex(PODS_BY_NODE, node.metadata.name);
  }

  forget(pod: Pod): void {
    const uid = pod.metadata.uid ?? "";
    this.#ips.delete(uid);
    this.#takenAt.delete(uid);
    this.#stoppingSince.delete(uid);
    this.#kubelets.logs.forget(keyOf(pod));
  }

  async run(key: string): Promise<Outcome> {
    const { mirrors } = this.#kubelets.deps;
    const pod = podMirror(mirrors).get(key);
    if (pod === undefined) return AWAIT_CHANGE;
    const node = mirrors.of(NODE).get(pod.spec.nodeName ?? "");
    if (node === undefined || !this.#kubelets.runs(node)) return AWAIT_CHANGE;
    if (pod.metadata.deletionTimestamp !== undefined) return this.#stop(pod);
    const phase = pod.status?.phase ?? "Pending";
    if (phase === "Succeeded" || phase === "Failed") return AWAIT_CHANGE;
    if (phase === "Running") return this.#keepRunning(pod);
    return this.#start(pod, node);
  }

  async #start(pod: Pod, node: Node): Promise<Outcome> {
    // Until the node is ready it has no pod network. Only pods with hostNetwork can start.
    if (!isNodeReady(node) && pod.spec.hostNetwork !== true) return AWAIT_CHANGE;
    const { clock } = this.#kubelets.deps;
    const place = this.#placeOf(pod, node);
    const startMs = this.#span(pod, START_AFTER_ANNOTATION) ?? this.#kubelets.options.podStartMs;
    const uid = pod.metadata.uid ?? "";
    const takenAt = this.#takenAt.get(uid) ?? fromRfc3339(pod.status?.startTime);
    if (takenAt === undefined) {
      this.#takenAt.set(uid, clock.now());
      await this.#report(pod, creatingStatus(pod, place, clock.now()));
      return requeueAfter(startMs);
    }
    const dueMs = takenAt + startMs;
    if (clock.now() < dueMs) return requeueAfter(dueMs - clock.now());
    await this.#report(pod, runningStatus(pod, place, clock.now()));
    this.#announceStart(pod);
    const runFor = this.#span(pod, RUN_FOR_ANNOTATION);
    return runFor === undefined ? AWAIT_CHANGE : requeueAfter(runFor);
  }

  async #keepRunning(pod: Pod): Promise<Outcome> {
    const runFor = this.#span(pod, RUN_FOR_ANNOTATION);
    if (runFor === undefined) return AWAIT_CHANGE;
    const { clock } = this.#kubelets.deps;
    const exitCode = Number(pod.metadata.annotations?.[EXIT_CODE_ANNOTATION] ?? 0);
    const delayMs = backOffMs(restarts(pod), runFor);
    const since = runningSince(pod);
    const dueMs =
      since === undefined
        ? (fromRfc3339(endedLast(pod)) ?? clock.now()) + delayMs
        : (fromRfc3339(since) ?? clock.now()) + runFor;
    if (clock.now() < dueMs) return requeueAfter(dueMs - clock.now());
    if (since === undefined) return this.#restart(pod, exitCode, runFor);
    const policy = pod.spec.restartPolicy ?? "Always";
    if (policy === "Always" || (policy === "OnFailure" && exitCode !== 0)) {
      if (delayMs === 0) return this.#restart(pod, exitCode, runFor);
      await this.#report(pod, backingOffStatus(pod, exitCode, clock.now(), delayMs));
      this.#announceBackOff(pod);
      return requeueAfter(delayMs);
    }
    await this.#report(pod, endedStatus(pod, exitCode, clock.now()));
    this.#print(pod, (name) => `container ${name} ended with exit code ${exitCode}`);
    this.#kubelets.logs.end(keyOf(pod));
    this.#trace(exitCode === 0 ? "succeeded" : "failed", pod, `exit code ${exitCode}`);
    return AWAIT_CHANGE;
  }

  async #restart(pod: Pod, exitCode: number, runForMs: number): Promise<Outcome> {
    await this.#report(pod, restartedStatus(pod, exitCode, this.#kubelets.deps.clock.now()));
    this.#print(pod, (name) => `container ${name} ended with exit code ${exitCode}`);
    for (const { name } of pod.spec.containers) this.#kubelets.logs.startAgain(keyOf(pod), name);
    this.#print(pod, (name) => `started container ${name} of pod ${keyOf(pod)} again`);
    return requeueAfter(runForMs);
  }

  /** Stops the containers within the grace period, then removes the pod from the API server. */
  async #stop(pod: Pod): Promise<Outcome> {
    const { clock, kube } = this.#kubelets.deps;
    const { namespace, name, uid, deletionGracePeriodSeconds } = pod.metadata;
    const graceMs = (deletionGracePeriodSeconds ?? 0) * 1_000;
    const stopMs = this.#span(pod, STOP_AFTER_ANNOTATION) ?? this.#kubelets.options.podStopMs;
    const runs = pod.status?.phase === "Running" && runningSince(pod) !== undefined;
    if (runs && !this.#stoppingSince.has(uid ?? "")) this.#announceStop(pod);
    const askedAt = this.#stoppingSince.get(uid ?? "") ?? clock.now();
    const dueMs = askedAt + (runs ? stopsWithinMs(pod, graceMs, stopMs) : 0);
    if (clock.now() < dueMs) return requeueAfter(dueMs - clock.now());
    try {
      await kube.delete(
        POD,
        { namespace, name },
        {
          gracePeriodSeconds: 0,
          ...(uid === undefined ? {} : { preconditions: { uid } }),
        },
      );
    } catch (error) {
      // The pod is gone, or another pod has its name now.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    this.#trace("stopped", pod, "");
    return AWAIT_CHANGE;
  }

  async #report(pod: Pod, status: PodStatus): Promise<void> {
    await patchObject(this.#kubelets.deps.kube, POD, pod, { ...pod, status });
  }

  #placeOf(pod: Pod, node: Node): PodPlace {
    const uid = pod.metadata.uid ?? "";
    let podIp = this.#ips.get(uid);
    if (podIp === undefined) {
      const next = this.#nextIp++;
      podIp = `10.${128 + ((next >> 16) & 127)}.${(next >> 8) & 255}.${next & 255}`;
      this.#ips.set(uid, podIp);
    }
    const internal = node.status?.addresses?.find(({ type }) => type === "InternalIP");
    return { podIp, hostIp: internal?.address ?? "10.0.0.1" };
  }

  /** The duration in an annotation, in milliseconds. An invalid one is logged and ignored. */
  #span(pod: Pod, annotation: string): number | undefined {
    const text = pod.metadata.annotations?.[annotation];
    if (text === undefined) return undefined;
    const ms = parseDuration(text);
    if (ms === undefined) {
      this.#kubelets.deps.log.warn("ignoring annotation: not a duration such as 30s", {
        Pod: keyOf(pod),
        annotation,
        value: text,
      });
    }
    return ms;
  }

  #announceStart(pod: Pod): void {
    for (const { name, image } of pod.spec.containers) {
      this.#publish(pod, "Pulled", `Container image "${image ?? ""}" already present on machine`);
      this.#publish(pod, "Created", `Created container: ${name}`);
      this.#publish(pod, "Started", `Started container ${name}`);
    }
    this.#print(
      pod,
      (name) => `started container ${name} of pod ${keyOf(pod)} on ${pod.spec.nodeName}`,
    );
    this.#trace("running", pod, `on ${pod.spec.nodeName}`);
  }

  /** Adds a line to the log of each container. */
  #print(pod: Pod, line: (container: string) => string): void {
    const { clock } = this.#kubelets.deps;
    for (const { name } of pod.spec.containers)
      this.#kubelets.logs.append(keyOf(pod), name, { atMs: clock.now(), text: line(name) });
  }

  #announceStop(pod: Pod): void {
    this.#stoppingSince.set(pod.metadata.uid ?? "", this.#kubelets.deps.clock.now());
    this.#print(pod, (name) => `stopping container ${name}`);
    for (const { name } of pod.spec.containers) {
      this.#publish(pod, "Killing", `Stopping container ${name}`);
    }
  }

  #announceBackOff(pod: Pod): void {
    const { name, uid } = pod.metadata;
    for (const container of pod.spec.containers) {
      const message = `Back-off restarting failed container ${container.name} in pod ${name}_${pod.metadata.namespace}(${uid})`;
      this.#publish(pod, "BackOff", message, "Warning");
    }
  }

  #publish(pod: Pod, reason: string, message: string, type: "Normal" | "Warning" = "Normal"): void {
    this.#recorder.publish({ object: subject(POD, pod), type, reason, message });
  }

  #trace(verb: string, pod: Pod, what: string): void {
    const atMs = this.#kubelets.deps.clock.now();
    this.#kubelets.deps.trace?.({
      atMs,
      actor: "kubelet",
      verb,
      object: `pod ${keyOf(pod)}`,
      what,
    });
  }
}
