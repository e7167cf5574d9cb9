/**
 * The Job controller: runs pods until enough have succeeded or too many have failed, within `parallelism`,
 * `backoffLimit`, `activeDeadlineSeconds` and the failure policy; removes finished Jobs after their
 * `ttlSecondsAfterFinished`. Each pod carries a finalizer until it has been counted.
 */
import { JOB, type Job } from "../../apis/apps/kinds.ts";
import { type Container, POD, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import type { Condition } from "../../apis/meta.ts";
import { controllerOf } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { isNotFound } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../parts.ts";
import {
  createPod,
  generatedName,
  podOf,
  podsOwnedBy,
  removePod,
  requestsToOwner,
  slowStart,
} from "./controls.ts";
import {
  type Counts,
  countPods,
  formatIndexes,
  INDEX_LABEL,
  isIndexed,
  isTracked,
  missingIndexes,
  TRACKING_FINALIZER,
  untilDeadline,
  type Verdict,
  verdictOf,
  wantedActive,
} from "./job-counts.ts";

/** After a failed pod the next one waits: ten seconds, doubling, at most ten minutes. */
const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 600_000;

/** Failures in a row, and when the last of them was. */
interface Failures {
  readonly count: number;
  readonly lastMs: number;
}

export function jobController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const jobs = mirrors.of(JOB);
  const random = deps.random.fork("job");
  const recorder = createPartRecorder(deps, "job-controller");
  const failures = new Map<string, Failures>();
  podMirror(mirrors);
  jobs.on((event, job) => {
    if (event === "removed") failures.delete(job.metadata.uid ?? "");
  });

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const job = jobs.get(`${namespace}/${name}`);
    if (job === undefined) {
      await freeOrphans(namespace, name);
      return AWAIT_CHANGE;
    }
    const finishedAt = finishedMs(job);
    const counts = countPods(job, podsOwnedBy(deps, job));
    if (finishedAt !== undefined || job.metadata.deletionTimestamp !== undefined) {
      await free(counts.finished);
      return finishedAt === undefined ? AWAIT_CHANGE : removeWhenDue(job, finishedAt);
    }
    const now = clock.now();
    noteFailures(job, counts, now);
    const verdict = verdictOf(job, counts, now);
    const suspended = job.spec.suspend === true;
    let [waitMs, leaving]: [number | undefined, number] = [undefined, 0];
    if (verdict !== undefined || suspended) leaving = await dismiss(job, counts.active);
    else [waitMs, leaving] = await fill(job, counts, now);
    await report(job, counts, verdict, { leaving, suspended });
    await free(counts.finished);
    if (verdict !== undefined || suspended) return AWAIT_CHANGE;
    return soonestOf(waitMs, untilDeadline(job, now));
  }

  /** Sends pods away without counting them. */
  async function dismiss(job: Job, pods: readonly Pod[]): Promise<number> {
    await free(pods);
    await Promise.all(pods.map((pod) => removePod(deps, recorder, JOB, job, pod)));
    return pods.length;
  }

  /** Takes the finalizer off: the pod has been counted, or nobody is left to count it. */
  async function free(pods: readonly Pod[]): Promise<void> {
    await Promise.all(
      pods.filter(isTracked).map(async (pod) => {
        const finalizers = pod.metadata.finalizers?.filter((one) => one !== TRACKING_FINALIZER);
        const metadata = { ...pod.metadata, finalizers: finalizers ?? [] };
        await patchObject(kube, POD, pod, { ...pod, metadata });
      }),
    );
  }

  async function freeOrphans(namespace: string | undefined, name: string): Promise<void> {
    const orphans = podMirror(mirrors)
      .list()
      .filter((pod) => pod.metadata.namespace === namespace && isTracked(pod))
      .filter((pod) => controllerOf(pod)?.kind === "Job" && controllerOf(pod)?.name === name);
    await free(orphans);
  }

  /** Brings the number of running pods to what is wanted; how long a retry must wait, and how many go. */
  async function fill(
    job: Job,
    counts: Counts,
    now: number,
  ): Promise<[waitMs: number | undefined, leaving: number]> {
    const wanted = wantedActive(job, counts);
    const byUse = [...counts.active].sort((a, b) => Number(isReady(b)) - Number(isReady(a)));
    const leaving = await dismiss(job, byUse.slice(wanted));
    const missing = wanted - counts.active.length;
    if (missing <= 0) return [undefined, leaving];
    const waitMs = retryWaitMs(job, now);
    if (waitMs > 0) return [waitMs, leaving];
    const pods = isIndexed(job)
      ? missingIndexes(job, counts)
          .slice(0, missing)
          .map((index) => indexedPod(job, index))
      : Array.from({ length: missing }, () =>
          tracked(podOf(JOB, job, job.spec.template, generatedName(job, random))),
        );
    await slowStart(pods.map((pod) => () => createPod(deps, recorder, JOB, job, pod)));
    return [undefined, leaving];
  }

  /** A pod that knows which part of the work is its own. */
  function indexedPod(job: Job, index: number): Pod {
    const generateName = `${job.metadata.name}-${index}-`;
    const name = generateName.slice(0, 58) + random.suffix();
    const pod = tracked(podOf(JOB, job, job.spec.template, { generateName, name }));
    const own = { [INDEX_LABEL]: String(index) };
    const fieldPath = `metadata.labels['${INDEX_LABEL}']`;
    const env = { name: "JOB_COMPLETION_INDEX", valueFrom: { fieldRef: { fieldPath } } };
    const withIndex = (container: Container): Container =>
      ({
        ...container,
        env: [...((container as { env?: readonly object[] }).env ?? []), env],
      }) as Container;
    return {
      ...pod,
      metadata: {
        ...pod.metadata,
        labels: { ...pod.metadata.labels, ...own },
        annotations: { ...pod.metadata.annotations, ...own },
      },
      spec: {
        ...pod.spec,
        hostname: `${job.metadata.name}-${index}`,
        containers: pod.spec.containers.map(withIndex),
      },
    };
  }

  function noteFailures(job: Job, { finished }: Counts, now: number): void {
    const key = job.metadata.uid ?? "";
    for (const pod of finished) {
      if (pod.status?.phase === "Succeeded") failures.delete(key);
      else {
        const known = failures.get(key);
        const lastMs = Math.max(known?.lastMs ?? 0, Math.min(now, endedMs(pod, now)));
        failures.set(key, { count: (known?.count ?? 0) + 1, lastMs });
      }
    }
  }

  function retryWaitMs(job: Job, now: number): number {
    const known = failures.get(job.metadata.uid ?? "");
    if (known === undefined) return 0;
    const backoff = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, known.count - 1));
    return Math.max(0, known.lastMs + backoff - now);
  }

  async function report(
    before: Job,
    counts: Counts,
    verdict: Verdict | undefined,
    { leaving, suspended }: { readonly leaving: number; readonly suspended: boolean },
  ): Promise<void> {
    const job = jobs.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const { active, terminating } = countPods(job, podsOwnedBy(deps, job));
    const at = toRfc3339(clock.now());
    // Pods that were just sent away for good count as failed.
    const failed = counts.failed + (verdict?.type === "Failed" ? leaving : 0);
    const ends = verdict !== undefined && terminating === 0;
    const conditions = [...(job.status?.conditions ?? [])];
    noteSuspension(job, suspended, conditions, at);
    if (verdict !== undefined) {
      const times = { lastProbeTime: at, lastTransitionTime: at };
      const interim = verdict.type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
      for (const type of ends ? [interim, verdict.type] : [interim]) {
        if (conditions.some((one) => one.type === type)) continue;
        conditions.push({ ...verdict, type, status: "True", ...times });
      }
      if (ends) tellEnd(job, verdict);
    }
    const startTime = suspended ? undefined : (job.status?.["startTime"] ?? at);
    const status = {
      ...job.status,
      startTime,
      active: active.length || undefined,
      ready: active.filter(isReady).length,
      terminating,
      succeeded: counts.succeeded || undefined,
      failed: failed || undefined,
      ...(isIndexed(job)
        ? { completedIndexes: formatIndexes(counts.completedIndexes) || undefined }
        : {}),
      uncountedTerminatedPods: {},
      ...(ends && verdict.type === "Complete" ? { completionTime: at } : {}),
      ...(conditions.length === 0 ? {} : { conditions }),
    };
    await patchObject(kube, JOB, job, { ...job, status } as Job);
  }

  function tellEnd(job: Job, verdict: Verdict): void {
    const good = verdict.type === "Complete";
    recorder.publish({
      object: subject(JOB, job),
      type: good ? "Normal" : "Warning",
      reason: good ? "Completed" : verdict.reason,
      message: good ? "Job completed" : verdict.message,
    });
  }

  /** Adds or turns the Suspended condition; a Job that never was suspended has none. */
  function noteSuspension(job: Job, suspended: boolean, conditions: Condition[], at: string): void {
    const known = conditions.findIndex(({ type }) => type === "Suspended");
    const was = conditions[known]?.status === "True";
    if (was === suspended || (known < 0 && !suspended)) return;
    const [reason, message] = suspended
      ? ["JobSuspended", "Job suspended"]
      : ["JobResumed", "Job resumed"];
    const status = suspended ? "True" : "False";
    const next: Condition = {
      type: "Suspended",
      status,
      reason,
      message,
      lastProbeTime: at,
      lastTransitionTime: at,
    } as Condition;
    conditions.splice(known < 0 ? conditions.length : known, known < 0 ? 0 : 1, next);
    const event = suspended ? "Suspended" : "Resumed";
    recorder.publish({ object: subject(JOB, job), type: "Normal", reason: event, message });
  }

  async function removeWhenDue(job: Job, finishedAt: number): Promise<Outcome> {
    const ttl = job.spec.ttlSecondsAfterFinished;
    if (ttl === undefined) return AWAIT_CHANGE;
    const waitMs = finishedAt + ttl * 1_000 - clock.now();
    if (waitMs > 0) return requeueAfter(waitMs);
    const { name, namespace } = job.metadata;
    try {
      await kube.delete(JOB, { name, namespace }, { propagationPolicy: "Foreground" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return AWAIT_CHANGE;
  }

  return {
    name: "job",
    watches: [source(JOB), source(POD, requestsToOwner("Job"))],
    concurrency: 4,
    reconcile,
  };
}

function finishedMs(job: Job): number | undefined {
  const finished = job.status?.conditions?.find(
    ({ type, status }: Condition) =>
      (type === "Complete" || type === "Failed") && status === "True",
  );
  return finished === undefined ? undefined : (fromRfc3339(finished.lastTransitionTime) ?? 0);
}

function tracked(pod: Pod): Pod {
  const finalizers = [...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER];
  return { ...pod, metadata: { ...pod.metadata, finalizers } };
}

function endedMs(pod: Pod, nowMs: number): number {
  const state = pod.status?.containerStatuses?.[0]?.["state"] as
    | { terminated?: { finishedAt?: string } }
    | undefined;
  return fromRfc3339(state?.terminated?.finishedAt) ?? nowMs;
}

function soonestOf(...waits: readonly (number | undefined)[]): Outcome {
  const known = waits.filter((wait): wait is number => wait !== undefined);
  return known.length === 0 ? AWAIT_CHANGE : requeueAfter(Math.min(...known));
}
