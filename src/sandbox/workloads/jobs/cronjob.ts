/**
 * The CronJob controller. It creates a Job at each time of the schedule, follows the concurrency policy for
 * Jobs that still run, and deletes finished Jobs beyond the history limits.
 * upstream: kubernetes pkg/controller/cronjob/cronjob_controllerv2.go
 */
import { CRON_JOB, type CronJob, JOB, type Job } from "../../../apis/apps/kinds.ts";
import { controllerOf } from "../../../apis/meta.ts";
import { toRfc3339 } from "../../../base/clock.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import { isAlreadyExists } from "../../../kube/errors.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requestFor,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, subject } from "../../parts.ts";
import { answerOf, ownerReference, requestsToOwner } from "../controls.ts";
import { type ActiveJob, dueOf, endOf, type News, stillActive } from "./cronjob-schedule.ts";

const SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp";
const MINUTE_MS = 60_000;

/** Starts Jobs on schedule. upstream: pkg/controller/cronjob of Kubernetes. */
export function cronJobController(deps: PartDeps): Controller {
  const { clock, kube, mirrors } = deps;
  const cronJobs = mirrors.of(CRON_JOB);
  const jobs = mirrors.of(JOB);
  const recorder = createPartRecorder(deps, "cronjob-controller");
  const parts: Parts = {
    kube,
    say: (cronJob, news) => recorder.publish({ object: subject(CRON_JOB, cronJob), ...news }),
  };

  async function reconcile({ namespace, name }: Request): Promise<Outcome> {
    const cronJob = cronJobs.get(`${namespace}/${name}`);
    if (cronJob === undefined) return AWAIT_CHANGE;
    const own = jobs
      .list()
      .filter((job) => controllerOf(job)?.uid === cronJob.metadata.uid)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const seen = stillActive(cronJob, own);
    for (const news of seen.news) parts.say(cronJob, news);
    const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = cronJob.spec;
    await Promise.all([
      prune(parts, cronJob, own, "Complete", successfulJobsHistoryLimit),
      prune(parts, cronJob, own, "Failed", failedJobsHistoryLimit),
    ]);
    const due = dueOf(cronJob, seen.active.length > 0, clock.now());
    for (const news of due.news) parts.say(cronJob, news);
    const { active, ...started } =
      due.startMs === undefined
        ? { active: seen.active }
        : await startAt(parts, cronJob, due.startMs, own, seen.active);
    const { active: _, ...known } = cronJob.status ?? {};
    const status = {
      ...known,
      ...lastSuccess(cronJob, own),
      ...started,
      ...(active.length === 0 ? {} : { active }),
    };
    await patchObject(kube, CRON_JOB, cronJob, { ...cronJob, status });
    return due.lookAgainMs === undefined
      ? AWAIT_CHANGE
      : requeueAfter(Math.max(0, due.lookAgainMs - clock.now()));
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

interface Parts extends Pick<PartDeps, "kube"> {
  readonly say: (cronJob: CronJob, news: News) => void;
}

/** Deletes the oldest Jobs with this result, beyond the history limit. */
async function prune(
  parts: Parts,
  cronJob: CronJob,
  own: readonly Job[],
  end: "Complete" | "Failed",
  limit: number | undefined,
): Promise<void> {
  if (limit === undefined) return;
  const ended = own.filter((job) => endOf(job) === end);
  const old = ended.slice(0, Math.max(0, ended.length - limit));
  await Promise.all(old.map((job) => remove(parts, cronJob, job)));
}

async function remove({ kube, say }: Parts, cronJob: CronJob, job: Job): Promise<void> {
  if (job.metadata.deletionTimestamp !== undefined) return;
  if (!(await deleteIfThere(kube, JOB, job, { propagationPolicy: "Background" }))) return;
  const message = `Deleted job ${job.metadata.name}`;
  say(cronJob, { type: "Normal", reason: "SuccessfulDelete", message });
}

/**
 * Starts the Job for a scheduled time. With the policy Replace it deletes running Jobs first. Returns the new
 * status fields.
 */
async function startAt(
  parts: Parts,
  cronJob: CronJob,
  dueMs: number,
  own: readonly Job[],
  active: readonly ActiveJob[],
): Promise<{ readonly active: readonly ActiveJob[]; readonly lastScheduleTime: string }> {
  const replaces = cronJob.spec.concurrencyPolicy === "Replace";
  if (replaces) {
    const uids = new Set(active.map(({ uid }) => uid));
    const running = own.filter(({ metadata }) => uids.has(metadata.uid ?? ""));
    await Promise.all(running.map((job) => remove(parts, cronJob, job)));
  }
  const job = await start(parts, cronJob, dueMs);
  return {
    active: [...(replaces ? [] : active), ...(job ? [referenceTo(job)] : [])],
    lastScheduleTime: toRfc3339(dueMs),
  };
}

/** Creates the Job. Undefined if it exists already. */
async function start(
  { kube, say }: Parts,
  cronJob: CronJob,
  dueMs: number,
): Promise<Job | undefined> {
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
    say(cronJob, { type: "Normal", reason: "SuccessfulCreate", message: `Created job ${name}` });
    return job;
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    const message = `Error creating job: ${answerOf(error)}`;
    say(cronJob, { type: "Warning", reason: "FailedCreate", message });
    throw error;
  }
}

function lastSuccess(cronJob: CronJob, own: readonly Job[]): { lastSuccessfulTime?: string } {
  const times = own
    .filter((job) => endOf(job) === "Complete")
    .map(({ status }) => status?.["completionTime"] as string | undefined)
    .filter((time) => time !== undefined);
  const last = [cronJob.status?.lastSuccessfulTime ?? "", ...times].sort().at(-1) ?? "";
  return last === "" ? {} : { lastSuccessfulTime: last };
}

function referenceTo({ metadata }: Job): ActiveJob {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  return { apiVersion: "batch/v1", kind: "Job", name, namespace, uid, resourceVersion };
}
