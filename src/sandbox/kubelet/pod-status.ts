/**
 * The status that a kubelet reports for a pod, as pure functions: containers are being created, run, wait for a
 * restart, or have ended. Probes are not simulated: a running container is ready, unless a label says that its pod is
 * unhealthy.
 */
import type { Pod, PodStatus } from "../../apis/core/pod.ts";
import type { Condition } from "../../apis/meta.ts";
import { toRfc3339 } from "../../base/clock.ts";
import { staysUnhealthy } from "./kwok-stage.ts";

/** Where a pod runs. */
export interface PodPlace {
  readonly hostIp: string;
  readonly podIp: string;
}

/** The status while containers are being created. */
export function creatingStatus(pod: Pod, place: PodPlace, nowMs: number): PodStatus {
  const waiting = (container: { name: string; image?: string }) => ({
    ...containerBase(container),
    ready: false,
    started: false,
    restartCount: 0,
    state: { waiting: { reason: "ContainerCreating" } },
  });
  return {
    ...pod.status,
    phase: "Pending",
    startTime: toRfc3339(nowMs),
    hostIP: place.hostIp,
    hostIPs: [{ ip: place.hostIp }],
    containerStatuses: pod.spec.containers.map(waiting),
    ...(pod.spec.initContainers === undefined
      ? {}
      : { initContainerStatuses: pod.spec.initContainers.map(waiting) }),
    conditions: withConditions(pod, nowMs, {
      PodReadyToStartContainers: ["False"],
      Initialized: pod.spec.initContainers === undefined ? ["True"] : ["False"],
      Ready: ["False", "ContainersNotReady", notReadyMessage(pod)],
      ContainersReady: ["False", "ContainersNotReady", notReadyMessage(pod)],
    }),
  };
}

/** The status while all containers run. */
export function runningStatus(pod: Pod, place: PodPlace, nowMs: number): PodStatus {
  const at = toRfc3339(nowMs);
  const isReady = !staysUnhealthy(pod);
  const podIp = pod.spec.hostNetwork === true ? place.hostIp : place.podIp;
  return {
    ...pod.status,
    phase: "Running",
    podIP: podIp,
    podIPs: [{ ip: podIp }],
    containerStatuses: pod.spec.containers.map((container) => ({
      ...containerBase(container),
      containerID: containerId(pod, container.name),
      ready: isReady,
      started: true,
      restartCount: restartsOf(pod, container.name),
      state: { running: { startedAt: at } },
    })),
    ...(pod.spec.initContainers === undefined
      ? {}
      : {
          initContainerStatuses: pod.spec.initContainers.map((container) => ({
            ...containerBase(container),
            containerID: containerId(pod, container.name),
            ready: true,
            restartCount: 0,
            ...(container.restartPolicy === "Always"
              ? { started: true, state: { running: { startedAt: at } } }
              : { started: false, state: terminated(0, at, at) }),
          })),
        }),
    conditions: withConditions(pod, nowMs, runningConditions(pod)),
  };
}

/** The status after all containers ended with `exitCode` for good. */
export function endedStatus(pod: Pod, exitCode: number, nowMs: number): PodStatus {
  const at = toRfc3339(nowMs);
  const startedAt = runningSince(pod) ?? at;
  const reason = exitCode === 0 ? "PodCompleted" : "PodFailed";
  return {
    ...pod.status,
    phase: exitCode === 0 ? "Succeeded" : "Failed",
    containerStatuses: pod.spec.containers.map((container) => ({
      ...containerBase(container),
      containerID: containerId(pod, container.name),
      ready: false,
      started: false,
      restartCount: restartsOf(pod, container.name),
      state: terminated(exitCode, startedAt, at),
    })),
    conditions: withConditions(pod, nowMs, {
      PodReadyToStartContainers: ["False"],
      Initialized: exitCode === 0 ? ["True", reason] : ["True"],
      Ready: ["False", reason],
      ContainersReady: ["False", reason],
    }),
  };
}

/** The status while ended containers wait `delayMs` for their restart. upstream: kubelet, CrashLoopBackOff */
export function backingOffStatus(
  pod: Pod,
  exitCode: number,
  nowMs: number,
  delayMs: number,
): PodStatus {
  const at = toRfc3339(nowMs);
  const startedAt = runningSince(pod) ?? at;
  const { name, namespace, uid } = pod.metadata;
  const waiting = (container: string) => ({
    reason: "CrashLoopBackOff",
    message: `back-off ${goDuration(delayMs)} restarting failed container=${container} pod=${name}_${namespace}(${uid})`,
  });
  return {
    ...pod.status,
    containerStatuses: (pod.status?.containerStatuses ?? []).map((status) => ({
      ...status,
      ready: false,
      started: false,
      lastState: terminated(exitCode, startedAt, at),
      state: { waiting: waiting(status.name) },
    })),
    conditions: withConditions(pod, nowMs, {
      PodReadyToStartContainers: ["True"],
      Initialized: ["True"],
      Ready: ["False", "ContainersNotReady", notReadyMessage(pod)],
      ContainersReady: ["False", "ContainersNotReady", notReadyMessage(pod)],
    }),
  };
}

/** The status after ended containers were restarted. `exitCode`: the code with which they ended. */
export function restartedStatus(pod: Pod, exitCode: number, nowMs: number): PodStatus {
  const at = toRfc3339(nowMs);
  const startedAt = runningSince(pod);
  return {
    ...pod.status,
    containerStatuses: (pod.status?.containerStatuses ?? []).map((status) => ({
      ...status,
      ready: !staysUnhealthy(pod),
      started: true,
      restartCount: restartsOf(pod, status.name) + 1,
      lastState:
        startedAt === undefined ? status["lastState"] : terminated(exitCode, startedAt, at),
      state: { running: { startedAt: at } },
    })),
    conditions: withConditions(pod, nowMs, runningConditions(pod)),
  };
}

/** When the first container began to run; undefined while it does not. */
export function runningSince(pod: Pod): string | undefined {
  const state = pod.status?.containerStatuses?.[0]?.["state"] as
    | { running?: { startedAt?: string } }
    | undefined;
  return state?.running?.startedAt;
}

/** When the previous run of the first container ended; undefined if there was none. */
export function endedLast(pod: Pod): string | undefined {
  const state = pod.status?.containerStatuses?.[0]?.["lastState"] as
    | { terminated?: { finishedAt?: string } }
    | undefined;
  return state?.terminated?.finishedAt;
}

/** How often the first container was started again. */
export function restarts(pod: Pod): number {
  return restartsOf(pod, pod.status?.containerStatuses?.[0]?.name ?? "");
}

function containerBase(container: { name: string; image?: string }) {
  return { name: container.name, image: container.image ?? "", imageID: container.image ?? "" };
}

function containerId(pod: Pod, container: string): string {
  return `containerd://${pod.metadata.uid ?? ""}-${container}`;
}

function restartsOf(pod: Pod, container: string): number {
  const status = pod.status?.containerStatuses?.find(({ name }) => name === container);
  return Number(status?.["restartCount"] ?? 0);
}

/** The duration in Go's format, in whole seconds: `40s`, `2m40s`. */
function goDuration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function terminated(exitCode: number, startedAt: string, finishedAt: string) {
  const reason = exitCode === 0 ? "Completed" : "Error";
  return { terminated: { exitCode, reason, startedAt, finishedAt } };
}

function notReadyMessage(pod: Pod): string {
  const names = pod.spec.containers.map(({ name }) => name).join(" ");
  return `containers with unready status: [${names}]`;
}

function runningConditions(pod: Pod): Readonly<Record<string, ConditionValue>> {
  const readiness: ConditionValue = staysUnhealthy(pod)
    ? ["False", "ContainersNotReady", notReadyMessage(pod)]
    : ["True"];
  return {
    PodReadyToStartContainers: ["True"],
    Initialized: ["True"],
    Ready: readiness,
    ContainersReady: readiness,
  };
}

type ConditionValue = readonly [status: Condition["status"], reason?: string, message?: string];

/**
 * The kubelet's conditions in their usual order, then conditions of other programs (PodScheduled, readiness gates).
 */
function withConditions(
  pod: Pod,
  nowMs: number,
  values: Readonly<Record<string, ConditionValue>>,
): readonly Condition[] {
  const known = new Map((pod.status?.conditions ?? []).map((one) => [one.type, one]));
  const ours = Object.entries(values).map(([type, [status, reason, message]]): Condition => {
    const before = known.get(type);
    known.delete(type);
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    return {
      type,
      status,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      lastTransitionTime: since ?? toRfc3339(nowMs),
    };
  });
  return [...ours, ...known.values()];
}
