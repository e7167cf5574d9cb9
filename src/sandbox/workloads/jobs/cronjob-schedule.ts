/**
 * What a CronJob's schedule, deadline and policy ask for now. Of times that were missed only the last is made up for,
 * and only within `startingDeadlineSeconds`.
 * upstream: kubernetes pkg/controller/cronjob/utils.go
 */
import type { CronJob, Job } from "../../../apis/apps/kinds.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { type Cron, nextAfter, parseCron } from "../../../base/cron.ts";

const HOUR_MS = 60 * 60_000;
/** It looks a little after the time, as the real one does. */
const AFTER_MS = 100;
/** More missed times than this mean a wrong clock: a warning event says so. */
const MAX_MISSED = 100;
const ALREADY_ACTIVE =
  "Not starting job because prior execution is running and concurrency policy is Forbid";
const TOO_MANY =
  "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew";

/** An entry of `status.active`. */
export type ActiveJob = NonNullable<NonNullable<CronJob["status"]>["active"]>[number];

/** An event on the CronJob. */
export interface News {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Whether a Job is to start now, and when to look again. */
export interface Due {
  readonly news: readonly News[];
  /** The time to start a Job for. */
  readonly startMs?: number;
  /** When to look again; absent: not by time alone. */
  readonly lookAgainMs?: number;
}

/** `active`: whether a Job of it runs. */
export function dueOf(cronJob: CronJob, active: boolean, nowMs: number): Due {
  const { schedule, timeZone, suspend, concurrencyPolicy } = cronJob.spec;
  if (cronJob.metadata.deletionTimestamp !== undefined || suspend === true) return { news: [] };
  // The schedule by the clocks of its place, where it names one.
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

/** The list in the status without what has ended or gone. */
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

/** The last time of the schedule that has come and has had no Job yet; whether many had none. */
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
