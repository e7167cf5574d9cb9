/**
 * The CronJob controller: makes a Job of the template at each time of the schedule, minds what still runs as the
 * concurrency policy says, and keeps only so many finished Jobs. Of times that were missed only the last is made up
 * for, and only within `startingDeadlineSeconds`.
 * upstream: kubernetes pkg/controller/cronjob/cronjob_controllerv2.go
 */
import { CRON_JOB, type CronJob, JOB, type Job } from "../../apis/apps/kinds.ts";
import { controllerOf } from "../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../base/clock.ts";
import { type Cron, nextAfter, parseCron } from "../../base/cron.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../kube/controller.ts";
import { isAlreadyExists, isNotFound } from "../../kube/errors.ts";
import { patchObject } from "../../kube/patch-object.ts";
import { createPartRecorder, type PartDeps, subject } from "../parts.ts";
import { answerOf, ownerReference, requestsToOwner } from "./controls.ts";

const SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** It looks a little after the time, as the real one does. */
const AFTER_MS = 100;
/** With more missed times than this something is wrong with the clock, and somebody should know. */
const MAX_MISSED = 100;

type ActiveJob = NonNullable<NonNullable<CronJob["status"]>["active"]>[number];

export function cronJobController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const cronJobs = mirrors.of(CRON_JOB);
  const jobs = mirrors.of(JOB);
  const recorder = createPartRecorder(deps, "cronjob-controller");

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const cronJob = cronJobs.get(`${namespace}/${name}`);
    if (cronJob === undefined) return AWAIT_CHANGE;
    const own = jobs
      .list()
      .filter((job) => controllerOf(job)?.uid === cronJob.metadata.uid)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const active = stillActive(cronJob, own);
    await Promise.all([
      prune(cronJob, own, "Complete", cronJob.spec.successfulJobsHistoryLimit),
      prune(cronJob, own, "Failed", cronJob.spec.failedJobsHistoryLimit),
    ]);
    let status = { ...cronJob.status, active, ...lastSuccess(cronJob, own) };
    let outcome: Outcome = AWAIT_CHANGE;
    if (cronJob.metadata.deletionTimestamp === undefined && cronJob.spec.suspend !== true) {
      const cron = parseCron(zoned(cronJob));
      if (cron === undefined) {
        const text = `unparseable schedule: "${cronJob.spec.schedule}"`;
        say(cronJob, "Warning", "UnparseableSchedule", text);
      } else {
        status = await startDue(cronJob, cron, status, own);
        const next = nextAfter(cron, clock.now());
        if (next !== undefined) outcome = requeueAfter(next + AFTER_MS - clock.now());
      }
    }
    const { active: left, ...rest } = status;
    const shown = { ...rest, ...(left.length === 0 ? {} : { active: left }) };
    await patchObject(kube, CRON_JOB, cronJob, { ...cronJob, status: shown });
    return outcome;
  }

  /** The list in the status without what has ended or gone; says so. */
  function stillActive(cronJob: CronJob, own: readonly Job[]): readonly ActiveJob[] {
    return (cronJob.status?.active ?? []).filter(({ uid, name }) => {
      const job = own.find(({ metadata }) => metadata.uid === uid);
      const condition = job && endOf(job);
      if (job === undefined)
        say(cronJob, "Normal", "MissingJob", `Active job went missing: ${name}`);
      else if (condition !== undefined) {
        const text = `Saw completed job: ${name}, condition: ${condition.type}`;
        say(cronJob, "Normal", "SawCompletedJob", text);
      }
      return job !== undefined && condition === undefined;
    });
  }

  /** Of the Jobs that ended so, only the newest stay. */
  async function prune(
    cronJob: CronJob,
    own: readonly Job[],
    end: "Complete" | "Failed",
    limit: number | undefined,
  ): Promise<void> {
    if (limit === undefined) return;
    const ended = own.filter((job) => endOf(job)?.type === end);
    const old = ended.slice(0, Math.max(0, ended.length - limit));
    await Promise.all(old.map((job) => remove(cronJob, job)));
  }

  async function remove(cronJob: CronJob, { metadata }: Job): Promise<void> {
    if (metadata.deletionTimestamp !== undefined) return;
    const { name, namespace } = metadata;
    try {
      await kube.delete(JOB, { name, namespace }, { propagationPolicy: "Background" });
      say(cronJob, "Normal", "SuccessfulDelete", `Deleted job ${name}`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** The status after what is due now has been started, or has been let be. */
  async function startDue(
    cronJob: CronJob,
    cron: Cron,
    status: Status,
    own: readonly Job[],
  ): Promise<Status> {
    const dueMs = lastDue(cronJob, cron);
    if (dueMs === undefined) return status;
    const { concurrencyPolicy, startingDeadlineSeconds } = cronJob.spec;
    const deadlineMs = (startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
    if (clock.now() > dueMs + deadlineMs) {
      const text = `Missed scheduled time to start a job: ${toRfc3339(dueMs)}`;
      say(cronJob, "Warning", "MissSchedule", text);
      return status;
    }
    let { active } = status;
    if (concurrencyPolicy === "Forbid" && active.length > 0) {
      say(cronJob, "Normal", "JobAlreadyActive", ALREADY_ACTIVE);
      return status;
    }
    if (concurrencyPolicy === "Replace") {
      const uids = new Set(active.map(({ uid }) => uid));
      const running = own.filter(({ metadata }) => uids.has(metadata.uid ?? ""));
      await Promise.all(running.map((job) => remove(cronJob, job)));
      active = [];
    }
    const job = await start(cronJob, dueMs);
    const lastScheduleTime = toRfc3339(dueMs);
    return { ...status, lastScheduleTime, active: [...active, ...(job ? [referenceTo(job)] : [])] };
  }

  async function start(cronJob: CronJob, dueMs: number): Promise<Job | undefined> {
    const { metadata, spec } = cronJob.spec.jobTemplate;
    const name = `${cronJob.metadata.name}-${dueMs / MINUTE_MS}`;
    try {
      const job = await kube.create(JOB, {
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: {
          name,
          ...(cronJob.metadata.namespace && { namespace: cronJob.metadata.namespace }),
          ...(metadata?.labels && { labels: metadata.labels }),
          annotations: { ...metadata?.annotations, [SCHEDULED_AT]: toRfc3339(dueMs) },
          ownerReferences: [ownerReference(CRON_JOB, cronJob)],
        },
        spec,
      });
      say(cronJob, "Normal", "SuccessfulCreate", `Created job ${name}`);
      return job;
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      say(cronJob, "Warning", "FailedCreate", `Error creating job: ${answerOf(error)}`);
      throw error;
    }
  }

  /** The last time of the schedule that has come and has had no Job yet. */
  function lastDue(cronJob: CronJob, cron: Cron): number | undefined {
    const { creationTimestamp } = cronJob.metadata;
    const { startingDeadlineSeconds } = cronJob.spec;
    const now = clock.now();
    let from = fromRfc3339(cronJob.status?.lastScheduleTime ?? creationTimestamp ?? "") ?? now;
    if (startingDeadlineSeconds !== undefined)
      from = Math.max(from, now - startingDeadlineSeconds * 1_000);
    let due: number | undefined;
    let missed = 0;
    for (let at = nextAfter(cron, from); at !== undefined && at <= now; at = nextAfter(cron, at)) {
      due = at;
      if (++missed <= MAX_MISSED) continue;
      say(cronJob, "Warning", "TooManyMissedTimes", TOO_MANY);
      return lastWithin(cron, from, now);
    }
    return due;
  }

  function say(
    cronJob: CronJob,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    recorder.publish({ object: subject(CRON_JOB, cronJob), type, reason, message });
  }

  return {
    name: "cronjob",
    watches: [
      source(CRON_JOB, (job, event) => (event === "removed" ? [] : [requestFor("CronJob", job)])),
      source(JOB, requestsToOwner("CronJob")),
    ],
    concurrency: 2,
    reconcile,
  };
}

/** The last time after `from` and not after `now`: looked for from the end, for there may be years between. */
function lastWithin(cron: Cron, from: number, now: number): number | undefined {
  for (let spanMs = HOUR_MS; ; spanMs *= 2) {
    const start = Math.max(from, now - spanMs);
    let last: number | undefined;
    for (let at = nextAfter(cron, start); at !== undefined && at <= now; at = nextAfter(cron, at))
      last = at;
    if (last !== undefined || start === from) return last;
  }
}

interface Status {
  readonly active: readonly ActiveJob[];
  readonly lastScheduleTime?: string;
  readonly lastSuccessfulTime?: string;
}

const ALREADY_ACTIVE =
  "Not starting job because prior execution is running and concurrency policy is Forbid";
const TOO_MANY =
  "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";

/** The schedule by the clocks of its place, where it names one. */
function zoned({ spec }: CronJob): string {
  return spec.timeZone === undefined ? spec.schedule : `CRON_TZ=${spec.timeZone} ${spec.schedule}`;
}

function endOf({ status }: Job): { readonly type: string } | undefined {
  return status?.conditions?.find(
    (one) => (one.type === "Complete" || one.type === "Failed") && one.status === "True",
  );
}

function lastSuccess(cronJob: CronJob, own: readonly Job[]): { lastSuccessfulTime?: string } {
  const times = own
    .filter((job) => endOf(job)?.type === "Complete")
    .map(({ status }) => status?.["completionTime"] as string | undefined)
    .filter((time) => time !== undefined);
  const last = [cronJob.status?.lastSuccessfulTime ?? "", ...times].sort().at(-1) ?? "";
  return last === "" ? {} : { lastSuccessfulTime: last };
}

function referenceTo({ metadata }: Job): ActiveJob {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  return { apiVersion: "batch/v1", kind: "Job", name, namespace, uid, resourceVersion };
}
