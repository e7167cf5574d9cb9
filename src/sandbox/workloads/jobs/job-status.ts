/** The status of a Job: counts, conditions, and the events about its end or suspension. Pure functions. */
import type { Job } from "../../../apis/apps/kinds.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import type { Condition } from "../../../apis/meta.ts";
import type { EventToPublish } from "../../../kube/events/events.ts";
import { type Counts, formatIndexes, isIndexed, type JobVerdict } from "./job-counts.ts";

type News = Pick<EventToPublish, "type" | "reason" | "message">;

/** What one reconcile of a Job found and did. */
export interface Look {
  /** Counts at the start of the reconcile, for ended pods. */
  readonly counts: Counts;
  /** Counts at the end of the reconcile, for running pods. */
  readonly now: Pick<Counts, "active" | "terminating">;
  readonly verdict: JobVerdict | undefined;
  /** Number of pods that this reconcile deleted. */
  readonly leaving: number;
  readonly suspended: boolean;
}

/** The next status, and the events about it. `at` is RFC 3339. */
export function statusAfter(
  job: Job,
  { counts, now, verdict, leaving, suspended }: Look,
  at: string,
): { readonly status: object; readonly news: readonly News[] } {
  const known = job.status?.conditions ?? [];
  const ends = verdict !== undefined && now.terminating === 0;
  const turned = withSuspension(known, suspended, at);
  const added = verdict === undefined ? [] : conditionsOf(verdict, turned, ends, at);
  const conditions = [...turned, ...added];
  // When the Job has failed, the pods that were deleted for it count as failed.
  const failed = counts.failed + (verdict?.type === "Failed" ? leaving : 0);
  const status = {
    ...job.status,
    startTime: suspended ? undefined : (job.status?.["startTime"] ?? at),
    ...countsShown(job, { ...counts, failed }, now),
    ...(ends && verdict.type === "Complete" ? { completionTime: at } : {}),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
  const news = [
    ...(turned === known ? [] : [suspensionNews(suspended)]),
    ...(ends ? [endNews(verdict)] : []),
  ];
  return { status, news };
}

function countsShown(
  job: Job,
  counts: Counts,
  now: Pick<Counts, "active" | "terminating">,
): Readonly<Record<string, unknown>> {
  return {
    active: now.active.length || undefined,
    ready: now.active.filter(isReady).length,
    terminating: now.terminating,
    succeeded: counts.succeeded || undefined,
    failed: counts.failed || undefined,
    ...(isIndexed(job)
      ? { completedIndexes: formatIndexes(counts.completedIndexes) || undefined }
      : {}),
    uncountedTerminatedPods: {},
  };
}

/** Conditions to add for the outcome of the Job. Complete and Failed are set when no pod is left. */
function conditionsOf(
  verdict: JobVerdict,
  known: readonly Condition[],
  ends: boolean,
  at: string,
): readonly Condition[] {
  const times = { lastProbeTime: at, lastTransitionTime: at };
  const interim = verdict.type === "Complete" ? "SuccessCriteriaMet" : "FailureTarget";
  return (ends ? [interim, verdict.type] : [interim])
    .filter((type) => !known.some((one) => one.type === type))
    .map((type) => ({ ...verdict, type, status: "True", ...times }));
}

function endNews(verdict: JobVerdict): News {
  return verdict.type === "Complete"
    ? { type: "Normal", reason: "Completed", message: "Job completed" }
    : { type: "Warning", reason: verdict.reason, message: verdict.message };
}

/**
 * Sets the condition Suspended if it changes. A Job that was never suspended has none. Returns the same list
 * if nothing changes.
 */
function withSuspension(
  conditions: readonly Condition[],
  suspended: boolean,
  at: string,
): readonly Condition[] {
  const known = conditions.find(({ type }) => type === "Suspended");
  if ((known?.status === "True") === suspended) return conditions;
  const { message } = suspensionNews(suspended);
  const reason = suspended ? "JobSuspended" : "JobResumed";
  const status = suspended ? "True" : "False";
  const times = { lastProbeTime: at, lastTransitionTime: at };
  const next: Condition = { type: "Suspended", status, reason, message, ...times };
  return known === undefined
    ? [...conditions, next]
    : conditions.map((one) => (one === known ? next : one));
}

function suspensionNews(suspended: boolean): News {
  return suspended
    ? { type: "Normal", reason: "Suspended", message: "Job suspended" }
    : { type: "Normal", reason: "Resumed", message: "Job resumed" };
}
