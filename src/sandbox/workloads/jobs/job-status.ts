/** What a Job's status says: counts, and conditions that come with a verdict or a suspension. Pure. */
import type { Job } from "../../../apis/apps/kinds.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import type { Condition } from "../../../apis/meta.ts";
import { type Counts, formatIndexes, isIndexed, type Verdict } from "./job-counts.ts";

/** `counts` of what ended, `now` of what runs. */
export function countsShown(
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

/** Conditions of the verdict that are not there yet: the end is told once no pod is left. */
export function news(
  verdict: Verdict,
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

/** The condition Suspended, and its message. */
export function suspension(suspended: boolean, at: string): readonly [Condition, string] {
  const [reason, message] = suspended
    ? ["JobSuspended", "Job suspended"]
    : ["JobResumed", "Job resumed"];
  const status = suspended ? "True" : "False";
  const times = { lastProbeTime: at, lastTransitionTime: at };
  return [{ type: "Suspended", status, reason, message, ...times } as Condition, message];
}
