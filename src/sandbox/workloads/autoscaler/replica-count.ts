/**
 * How many replicas a metric demands: the usage divided by the target of one replica. Pods that are not ready or have
 * no sample are counted so that they never make the change larger. All amounts are in thousandths.
 * upstream: pkg/controller/podautoscaler/replica_calculator.go
 */
import type { Container, Pod } from "../../../apis/core/pod.ts";
import { fromRfc3339 } from "../../../base/clock.ts";
import { parseMilli } from "../../../base/quantity.ts";

/** The usage of one pod. */
export interface Sample {
  readonly milli: number;
  readonly atMs: number;
  readonly windowMs: number;
}

/** Samples by pod name. */
export type Samples = ReadonlyMap<string, Sample>;

/** The pods, their samples, and what to measure. */
export interface Question {
  readonly resource: string;
  /** The container to measure in each pod. Undefined: the whole pod. */
  readonly container: string | undefined;
  readonly currentReplicas: number;
  readonly pods: readonly Pod[];
  readonly samples: Samples;
  readonly nowMs: number;
}

/** The replicas that a metric asks for, and the measured value. */
export interface ReplicaProposal {
  readonly replicas: number;
  /** Usage in percent of the requests. Absent if the target is an amount. */
  readonly utilization?: number;
  /** Average usage of the pods, in thousandths. */
  readonly milli: number;
}

/** Why there is no result. */
export interface Problem {
  readonly problem: string;
}

/** Usage within 10 % of the target changes nothing. upstream: --horizontal-pod-autoscaler-tolerance */
const TOLERANCE = 0.1;
/**
 * Milliseconds after a pod's start during which its CPU usage counts only if the pod is ready. upstream:
 * --horizontal-pod-autoscaler-cpu-initialization-period
 */
const CPU_INITIALIZATION_MS = 300_000;
/**
 * A pod that is not ready, and whose readiness last changed within this time after its start, was never
 * ready. upstream: --horizontal-pod-autoscaler-initial-readiness-delay
 */
const INITIAL_READINESS_MS = 30_000;

/** Replicas for a target in percent of the requests. */
export function replicasForUtilization(
  question: Question,
  target: number,
): ReplicaProposal | Problem {
  const { pods, resource, container } = question;
  const groups = groupPods(question);
  if ("problem" in groups) return groups;
  const requests = requestsOf(pods, resource, container);
  if ("problem" in requests) return requests;
  return replicasFor(question, groups, {
    ratio: (usages) => utilizationRatio(usages, requests, target),
    standIn: (pod) => Math.trunc(((requests.get(pod) ?? 0) * Math.max(100, target)) / 100),
  });
}

/** Replicas for a target that is an average amount. */
export function replicasForAverage(question: Question, target: number): ReplicaProposal | Problem {
  const groups = groupPods(question);
  if ("problem" in groups) return groups;
  return replicasFor(question, groups, {
    ratio: (usages) => {
      const milli = Math.trunc(sum(usages.values()) / usages.size);
      return { ratio: milli / target, milli };
    },
    standIn: () => target,
  });
}

interface Groups {
  readonly ready: number;
  readonly unready: readonly string[];
  readonly missing: readonly string[];
  /** Usage of the pods that count, by pod name. */
  readonly usages: ReadonlyMap<string, number>;
}

interface Ratio {
  readonly ratio: number;
  readonly utilization?: number;
  readonly milli: number;
}

interface Target {
  readonly ratio: (usages: ReadonlyMap<string, number>) => Ratio | Problem;
  /** The usage assumed for a pod without a sample, if the result would remove pods. */
  readonly standIn: (pod: string) => number;
}

function replicasFor(
  { currentReplicas }: Question,
  { ready, unready, missing, usages }: Groups,
  target: Target,
): ReplicaProposal | Problem {
  const first = target.ratio(usages);
  if ("problem" in first) return first;
  const { ratio, ...measured } = first;
  const unreadyCount = unready.length > 0 && ratio > 1;
  if (!unreadyCount && missing.length === 0) {
    return { ...measured, replicas: isClose(ratio) ? currentReplicas : Math.ceil(ratio * ready) };
  }
  const assumed = new Map(usages);
  if (ratio !== 1) for (const pod of missing) assumed.set(pod, ratio < 1 ? target.standIn(pod) : 0);
  if (unreadyCount) for (const pod of unready) assumed.set(pod, 0);
  const second = target.ratio(assumed);
  if ("problem" in second) return second;
  const turned = (ratio < 1 && second.ratio > 1) || (ratio > 1 && second.ratio < 1);
  if (isClose(second.ratio) || turned) return { ...measured, replicas: currentReplicas };
  const replicas = Math.ceil(second.ratio * assumed.size);
  // Assumed usage must not change the direction of scaling.
  const overshoots =
    (second.ratio < 1 && replicas > currentReplicas) ||
    (second.ratio > 1 && replicas < currentReplicas);
  return { ...measured, replicas: overshoots ? currentReplicas : replicas };
}

function isClose(ratio: number): boolean {
  return 1 - TOLERANCE <= ratio && ratio <= 1 + TOLERANCE;
}

function groupPods({ pods, samples, resource, nowMs }: Question): Groups | Problem {
  if (pods.length === 0)
    return { problem: "no pods returned by selector while calculating replica count" };
  const unready: string[] = [];
  const missing: string[] = [];
  const ignored = new Set<string>();
  let ready = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const phase = pod.status?.phase ?? "Pending";
    const sample = samples.get(name);
    if (deletionTimestamp !== undefined || phase === "Failed") ignored.add(name);
    else if (phase === "Pending") unready.push(name);
    else if (sample === undefined) missing.push(name);
    else if (resource === "cpu" && isWarmingUp(pod, sample, nowMs)) unready.push(name);
    else ready++;
  }
  const leftOut = new Set([...ignored, ...unready]);
  const usages = new Map(
    [...samples]
      .filter(([name]) => !leftOut.has(name))
      .map(([name, { milli }]) => [name, milli] as const),
  );
  if (usages.size === 0)
    return { problem: "did not receive metrics for targeted pods (pods might be unready)" };
  return { ready, unready, missing, usages };
}

/** Whether the CPU usage of a pod must be ignored, because the pod is still starting. */
function isWarmingUp({ status }: Pod, { atMs, windowMs }: Sample, nowMs: number): boolean {
  const condition = status?.conditions?.find(({ type }) => type === "Ready");
  const startedMs = fromRfc3339(status?.startTime);
  if (condition === undefined || startedMs === undefined) return true;
  const turnedMs = fromRfc3339(condition.lastTransitionTime) ?? 0;
  if (startedMs + CPU_INITIALIZATION_MS > nowMs)
    return condition.status === "False" || atMs < turnedMs + windowMs;
  return condition.status === "False" && startedMs + INITIAL_READINESS_MS > turnedMs;
}

function requestsOf(
  pods: readonly Pod[],
  resource: string,
  container: string | undefined,
): ReadonlyMap<string, number> | Problem {
  const requests = new Map<string, number>();
  for (const pod of pods) {
    const { name } = pod.metadata;
    const whole = pod.spec.resources?.requests?.[resource];
    if (container === undefined && whole !== undefined) {
      requests.set(name, parseMilli(whole) ?? 0);
      continue;
    }
    let total = 0;
    for (const one of lastingContainers(pod)) {
      if (container !== undefined && one.name !== container) continue;
      const request = one.resources?.requests?.[resource];
      if (request === undefined)
        return {
          problem: `missing request for ${resource} in container ${one.name} of Pod ${name}`,
        };
      total += parseMilli(request) ?? 0;
    }
    requests.set(name, total);
  }
  return requests;
}

function lastingContainers({ spec }: Pod): readonly Container[] {
  const sidecars = (spec.initContainers ?? []).filter((one) => one.restartPolicy === "Always");
  return [...spec.containers, ...sidecars];
}

function utilizationRatio(
  usages: ReadonlyMap<string, number>,
  requests: ReadonlyMap<string, number>,
  target: number,
): Ratio | Problem {
  const known = [...usages].filter(([pod]) => requests.has(pod));
  const used = sum(known.map(([, milli]) => milli));
  const asked = sum(known.map(([pod]) => requests.get(pod) ?? 0));
  if (asked === 0) return { problem: "no metrics returned matched known pods" };
  const utilization = Math.trunc((used * 100) / asked);
  return { ratio: utilization / target, utilization, milli: Math.trunc(used / known.length) };
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
