/**
 * Which Job a CronJob must start now, by its schedule, deadline and concurrency policy. Of missed times only
 * the last one is caught up, and only within `startingDeadlineSeconds`.
 * upstream: kubernetes pkg/controller/cronjob/utils.go
 */
import type { CronJob, Job } from "../../../apis/apps/kinds.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { type Cron, nextAfter, parseCron } from "../../../base/cron.ts";

const HOUR_MS = 60 * 60_000;
/** The controller runs this long after the scheduled time, as upstream. */
const AFTER_MS = 100;
/** If more times than this were missed, the clock is probably wrong, and a warning event says so. */
const MAX_MISSED = 100;
const ALREADY_ACTIVE =
  "Not starting job because prior execution is running and concurrency policy is Forbid";
const TOO_MANY =
  "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";

/** An entry of `status.active`. */
export type ActiveJob = NonNullable<NonNullable<CronJob["status"]>["active"]>[number];

/** An event to create for the CronJob. */
export interface News {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Whether a Job must start now, and when to check again. */
export interface Due {
  readonly news: readonly News[];
  /** The scheduled time of the Job to start. Absent: none starts. */
  readonly startMs?: number;
  /** When to check again. Absent: not before something changes. */
  readonly lookAgainMs?: number;
}

/** The Jobs that are due now. `active`: whether a Job of this CronJob runs. */
export function dueOf(cronJob: CronJob, active: boolean, nowMs: number): Due {
  const { schedule, timeZone, suspend, concurrencyPolicy } = cronJob.spec;
  if (cronJob.metadata.deletionTimestamp !== undefined || suspend === true) return { news: [] };
  // The schedule in its time zone, if it has one.
  const cron = parseCron(timeZone === undefined ? schedule : `CRON_TZ=${timeZone} ${schedule}`);
  if (cron === undefined) {
    const message = `unparseable schedule: "${schedule}"`;
    return { news: [{ type: "Warning", reason: "UnparseableSchedule", message }] };
  }
  const next = nextAfter(cron, nowMs);
  const again = next === undefined ? {} : { lookAgainMs: next + AFTER_MS };
  const { dueMs, tooMany } = lastDue(cronJob, cron, nowMs);
  const news: News[] = [];
  if (tooMany) news.push({ type: "Warning", reason: "TooManyMissedTimes", message: TOO_MANY });
  if (dueMs === undefined) return { news, ...again };
  if (nowMs > dueMs + deadlineMs(cronJob)) {
    const message = `Missed scheduled time to start a job: ${toRfc3339(dueMs)}`;
    return { news: [...news, { type: "Warning", reason: "MissSchedule", message }], ...again };
  }
  if (concurrencyPolicy === "Forbid" && active) {
    const reason = "JobAlreadyActive";
    return { news: [...news, { type: "Normal", reason, message: ALREADY_ACTIVE }], ...again };
  }
  return { news, startMs: dueMs, ...again };
}

/** The entries of `status.active` whose Jobs exist and have not ended. */
export function stillActive(
  cronJob: CronJob,
  own: readonly Job[],
): { readonly active: readonly ActiveJob[]; readonly news: readonly News[] } {
  const news: News[] = [];
  const active = (cronJob.status?.active ?? []).filter(({ uid, name }) => {
    const job = own.find(({ metadata }) => metadata.uid === uid);
    const end = job && endOf(job);
    if (job === undefined) {
      const message = `Active job went missing: ${name}`;
      news.push({ type: "Normal", reason: "MissingJob", message });
    } else if (end !== undefined) {
      const message = `Saw completed job: ${name}, condition: ${end}`;
      news.push({ type: "Normal", reason: "SawCompletedJob", message });
    }
    return job !== undefined && end === undefined;
  });
  return { active, news };
}

/** How the Job ended; undefined while it runs. */
export function endOf({ status }: Job): "Complete" | "Failed" | undefined {
  const ended = (type: string): boolean =>
    status?.conditions?.some((one) => one.type === type && one.status === "True") === true;
  if (ended("Complete")) return "Complete";
  return ended("Failed") ? "Failed" : undefined;
}

/** The last scheduled time that has passed without a Job, and whether too many were missed. */
function lastDue(
  cronJob: CronJob,
  cron: Cron,
  nowMs: number,
): { readonly dueMs: number | undefined; readonly tooMany: boolean } {
  const { creationTimestamp } = cronJob.metadata;
  const since = fromRfc3339(cronJob.status?.lastScheduleTime ?? creationTimestamp ?? "") ?? nowMs;
  const from = Math.max(since, nowMs - deadlineMs(cronJob));
  let dueMs: number | undefined;
  let missed = 0;
  for (let at = nextAfter(cron, from); at !== undefined && at <= nowMs; at = nextAfter(cron, at)) {
    dueMs = at;
    if (++missed > MAX_MISSED) return { dueMs: lastWithin(cron, from, nowMs), tooMany: true };
  }
  return { dueMs, tooMany: false };
}

function deadlineMs({ spec }: CronJob): number {
  return (spec.startingDeadlineSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
}

/**
 * The last scheduled time after `from` and not after `now`. It searches backwards, because years may lie
 * between them.
 */
function lastWithin(cron: Cron, from: number, now: number): number | undefined {
  for (let spanMs = HOUR_MS; ; spanMs *= 2) {
    const start = Math.max(from, now - spanMs);
    let last: number | undefined;
    for (let at = nextAfter(cron, start); at !== undefined && at <= now; at = nextAfter(cron, at))
      last = at;
    if (last !== undefined || start === from) return last;
  }
}
