/**
 * The Job controller: runs pods until enough have succeeded or too many have failed, within `parallelism`,
 * `backoffLimit`, `activeDeadlineSeconds` and the failure policy; removes finished Jobs after their
 * `ttlSecondsAfterFinished`. Each pod carries a finalizer until it has been counted.
 */
import { JOB, type Job } from "../../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import type { Condition } from "../../../apis/meta.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../../kube/controller.ts";
import { isNotFound } from "../../../kube/errors.ts";
import { patchObject } from "../../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";
import { createPod, podsOwnedBy, removePod, requestsToOwner, slowStart } from "../controls.ts";
import {
  type Counts,
  countPods,
  isTracked,
  TRACKING_FINALIZER,
  untilDeadline,
  type Verdict,
  verdictOf,
  wantedActive,
} from "./job-counts.ts";
import { newPodsOf } from "./job-pods.ts";
import { Retries } from "./job-retries.ts";
import { countsShown, news, suspension } from "./job-status.ts";

export function jobController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const jobs = mirrors.of(JOB);
  const random = deps.random.fork("job");
  const recorder = createPartRecorder(deps, "job-controller");
  const retries = new Retries();
  podMirror(mirrors);
  jobs.on((event, job) => {
    if (event === "removed") retries.forget(job);
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
    retries.note(job, counts.finished, now);
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
    const waitMs = retries.waitMs(job, now);
    if (waitMs > 0) return [waitMs, leaving];
    const pods = newPodsOf(job, counts, missing, random);
    await slowStart(pods.map((pod) => () => createPod(deps, recorder, JOB, job, pod)));
    return [undefined, leaving];
  }

  async function report(
    before: Job,
    counts: Counts,
    verdict: Verdict | undefined,
    { leaving, suspended }: { readonly leaving: number; readonly suspended: boolean },
  ): Promise<void> {
    const job = jobs.get(`${before.metadata.namespace}/${before.metadata.name}`) ?? before;
    const now = countPods(job, podsOwnedBy(deps, job));
    const at = toRfc3339(clock.now());
    const ends = verdict !== undefined && now.terminating === 0;
    const conditions = [...(job.status?.conditions ?? [])];
    noteSuspension(job, suspended, conditions, at);
    if (verdict !== undefined) conditions.push(...news(verdict, conditions, ends, at));
    if (ends) tellEnd(job, verdict);
    // Pods that were just sent away for good count as failed.
    const failed = counts.failed + (verdict?.type === "Failed" ? leaving : 0);
    const status = {
      ...job.status,
      startTime: suspended ? undefined : (job.status?.["startTime"] ?? at),
      ...countsShown(job, { ...counts, failed }, now),
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
    const [next, message] = suspension(suspended, at);
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

function soonestOf(...waits: readonly (number | undefined)[]): Outcome {
  const known = waits.filter((wait): wait is number => wait !== undefined);
  return known.length === 0 ? AWAIT_CHANGE : requeueAfter(Math.min(...known));
}
