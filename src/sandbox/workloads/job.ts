/**
 * The Job controller: runs pods until enough have succeeded or too many have failed, within
 * `parallelism`, `backoffLimit` and `activeDeadlineSeconds`; removes finished Jobs after their
 * `ttlSecondsAfterFinished`. Indexed completions and failure policies are not acted on.
 */
import { JOB, type Job } from "../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../apis/core/pod.ts";
import { isReady } from "../../apis/core/pod-predicates.ts";
import type { Condition } from "../../apis/meta.ts";
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
  activePods,
  createPod,
  generatedName,
  podOf,
  podsOwnedBy,
  removePod,
  requestsToOwner,
  slowStart,
} from "./controls.ts";

const DEFAULT_BACKOFF_LIMIT = 6;
/** After a failed pod the next one waits: ten seconds, doubling, at most six minutes. */
const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 360_000;

interface Counts {
  readonly active: readonly Pod[];
  readonly succeeded: number;
  readonly failed: number;
}

interface Verdict {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

export function jobController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const jobs = mirrors.of(JOB);
  const random = deps.random.fork("job");
  const recorder = createPartRecorder(deps, "job-controller");
  podMirror(mirrors);

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const job = jobs.get(`${namespace}/${name}`);
    if (job === undefined || job.metadata.deletionTimestamp !== undefined) return AWAIT_CHANGE;
    const finishedAt = finishedMs(job);
    if (finishedAt !== undefined) return removeWhenDue(job, finishedAt);
    const now = clock.now();
    const counts = count(podsOwnedBy(deps, job));
    const verdict = verdictOf(job, counts, now);
    let waitMs: number | undefined;
    if (verdict !== undefined || job.spec.suspend === true) {
      await Promise.all(counts.active.map((pod) => removePod(deps, recorder, JOB, job, pod)));
    } else {
      waitMs = await fill(job, counts, now);
    }
    await report(job, verdict);
    if (verdict !== undefined) return AWAIT_CHANGE;
    return soonestOf(waitMs, untilDeadline(job, now));
  }

  /** Brings the number of running pods to what is wanted; returns how long a retry must wait. */
  async function fill(job: Job, counts: Counts, now: number): Promise<number | undefined> {
    const wanted = wantedActive(job, counts);
    const surplus = counts.active.slice(wanted);
    await Promise.all(surplus.map((pod) => removePod(deps, recorder, JOB, job, pod)));
    const missing = wanted - counts.active.length;
    if (missing <= 0) return undefined;
    const waitMs = retryWaitMs(job, counts, now);
    if (waitMs > 0) return waitMs;
    const pods = Array.from({ length: missing }, () =>
      podOf(JOB, job, job.spec.template, generatedName(job, random)),
    );
    await slowStart(pods.map((pod) => () => createPod(deps, recorder, JOB, job, pod)));
    return undefined;
  }

  function retryWaitMs(job: Job, { failed }: Counts, now: number): number {
    if (failed === 0) return 0;
    const last = Math.max(
      ...podsOwnedBy(deps, job)
        .filter(({ status }) => status?.phase === "Failed")
        .map(endedMs),
    );
    const backoff = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, failed - 1));
    return Math.max(0, last + backoff - now);
  }

  async function report(before: Job, verdict: Verdict | undefined): Promise<void> {
    const job = jobs.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const counts = count(podsOwnedBy(deps, job));
    const at = toRfc3339(clock.now());
    const suspended = job.spec.suspend === true;
    const startTime = job.status?.["startTime"] ?? (suspended ? undefined : at);
    let conditions = job.status?.conditions ?? [];
    if (verdict !== undefined) {
      const times = { lastProbeTime: at, lastTransitionTime: at };
      const interim = verdict.type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
      conditions = [
        ...conditions,
        { ...verdict, type: interim, status: "True", ...times },
        { ...verdict, status: "True", ...times },
      ];
      const type = verdict.type === "Complete" ? "Normal" : "Warning";
      const reason = verdict.type === "Complete" ? "Completed" : verdict.reason;
      const message = verdict.type === "Complete" ? "Job completed" : verdict.message;
      recorder.publish({ object: subject(JOB, job), type, reason, message });
    }
    const status = {
      ...job.status,
      startTime,
      active: verdict === undefined ? counts.active.length || undefined : undefined,
      ready: verdict === undefined ? counts.active.filter(isReady).length : 0,
      terminating: 0,
      succeeded: counts.succeeded || undefined,
      failed: counts.failed || undefined,
      uncountedTerminatedPods: {},
      ...(verdict?.type === "Complete" ? { completionTime: at } : {}),
      ...(conditions.length === 0 ? {} : { conditions }),
    };
    await patchObject(kube, JOB, job, { ...job, status } as Job);
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

function count(pods: readonly Pod[]): Counts {
  const inPhase = (phase: string): number =>
    pods.filter(({ status }) => status?.phase === phase).length;
  return {
    active: activePods(pods),
    succeeded: inPhase("Succeeded"),
    failed: inPhase("Failed"),
  };
}

/** How many pods should run now. Without `completions` one success is enough. */
function wantedActive(job: Job, { active, succeeded }: Counts): number {
  const parallelism = job.spec.parallelism ?? 1;
  const { completions } = job.spec;
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.min(parallelism, Math.max(0, completions - succeeded));
}

function verdictOf(job: Job, counts: Counts, nowMs: number): Verdict | undefined {
  const limit = job.spec.backoffLimit ?? DEFAULT_BACKOFF_LIMIT;
  if (counts.failed > limit) {
    const message = "Job has reached the specified backoff limit";
    return { type: "Failed", reason: "BackoffLimitExceeded", message };
  }
  if (untilDeadline(job, nowMs) === 0) {
    const message = "Job was active longer than specified deadline";
    return { type: "Failed", reason: "DeadlineExceeded", message };
  }
  const { completions } = job.spec;
  const done =
    completions === undefined
      ? counts.succeeded > 0 && counts.active.length === 0
      : counts.succeeded >= completions;
  if (!done || counts.active.length > 0) return undefined;
  const message = "Reached expected number of succeeded pods";
  return { type: "Complete", reason: "CompletionsReached", message };
}

/** Milliseconds until `activeDeadlineSeconds` is over, at least 0; undefined without one. */
function untilDeadline(job: Job, nowMs: number): number | undefined {
  const startedAt = fromRfc3339(job.status?.["startTime"] as string | undefined);
  const { activeDeadlineSeconds } = job.spec;
  if (startedAt === undefined || activeDeadlineSeconds === undefined) return undefined;
  return Math.max(0, startedAt + activeDeadlineSeconds * 1_000 - nowMs);
}

function finishedMs(job: Job): number | undefined {
  const finished = job.status?.conditions?.find(
    ({ type, status }: Condition) =>
      (type === "Complete" || type === "Failed") && status === "True",
  );
  return finished === undefined ? undefined : (fromRfc3339(finished.lastTransitionTime) ?? 0);
}

function endedMs(pod: Pod): number {
  const state = pod.status?.containerStatuses?.[0]?.["state"] as
    | { terminated?: { finishedAt?: string } }
    | undefined;
  return fromRfc3339(state?.terminated?.finishedAt ?? pod.metadata.creationTimestamp) ?? 0;
}

function soonestOf(...waits: readonly (number | undefined)[]): Outcome {
  const known = waits.filter((wait): wait is number => wait !== undefined);
  return known.length === 0 ? AWAIT_CHANGE : requeueAfter(Math.min(...known));
}
