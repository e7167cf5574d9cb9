/**
 * Counts the pods of a Job: which ones succeeded or failed, what the failure policy does with a failed pod,
 * which indexes are completed, and whether the Job has ended. Pure functions.
 */
import type { Job } from "../../../apis/apps/kinds.ts";
import { isActive, isTerminal, isTerminating, type Pod } from "../../../apis/core/pod.ts";
import { fromRfc3339 } from "../../../base/clock.ts";

/** Finalizer of pods that are not counted yet. A deleted pod stays until it is counted. */
export const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";
export const INDEX_LABEL = "batch.kubernetes.io/job-completion-index";
const DEFAULT_BACKOFF_LIMIT = 6;

/** The pods of a Job by state. */
export interface Counts {
  readonly active: readonly Pod[];
  /** Pods that are being deleted and still run. */
  readonly terminating: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Pods that ended since the last reconcile. The numbers above include them. */
  readonly finished: readonly Pod[];
  /** Completed indexes of an indexed Job, sorted. */
  readonly completedIndexes: readonly number[];
  /** The message of the failure policy that ends the Job. Undefined: none does. */
  readonly fatal: string | undefined;
}

/** How the Job ended, and why. */
export interface JobVerdict {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

/**
 * Counts the Job's pods, each once. A finished pod is added to the counts in the Job's status only while it has the
 * tracking finalizer. The status still counts pods that were deleted.
 */
export function countPods(job: Job, pods: readonly Pod[]): Counts {
  const status = (job.status ?? {}) as {
    succeeded?: number;
    failed?: number;
    completedIndexes?: string;
  };
  const finished = pods.filter((pod) => isTracked(pod) && hasFinished(job, pod));
  const done = finished.filter(({ status: { phase } = {} }) => phase === "Succeeded");
  const lost = finished.filter(({ status: { phase } = {} }) => phase !== "Succeeded");
  const rules = lost.map((pod) => matchingRule(job, pod));
  const counted = rules.filter((rule) => rule?.action !== "Ignore").length;
  const completedIndexes = isIndexed(job)
    ? [...new Set([...parseIndexes(status.completedIndexes), ...done.map(indexOf)])].sort(
        (a, b) => a - b,
      )
    : [];
  return {
    active: pods.filter((pod) => isActive(pod)),
    terminating: pods.filter((pod) => isTerminating(pod) && !isTerminal(pod)).length,
    succeeded: isIndexed(job) ? completedIndexes.length : (status.succeeded ?? 0) + done.length,
    failed: (status.failed ?? 0) + counted,
    finished,
    completedIndexes,
    fatal: rules.find((rule) => rule?.action === "FailJob")?.message,
  };
}

/** Whether the pod has ended. A pod that is being deleted counts as failed, unless only ended pods are replaced. */
function hasFinished(job: Job, pod: Pod): boolean {
  if (isTerminal(pod)) return true;
  const onlyEnded =
    job.spec.podReplacementPolicy === "Failed" || job.spec.podFailurePolicy !== undefined;
  return isTerminating(pod) && !onlyEnded;
}

/** The first rule of the failure policy that matches a failed pod, with its message. */
function matchingRule(
  job: Job,
  pod: Pod,
): { readonly action: string; readonly message: string } | undefined {
  const { namespace, name } = pod.metadata;
  for (const [at, rule] of (job.spec.podFailurePolicy?.rules ?? []).entries()) {
    const { action, onExitCodes, onPodConditions } = rule;
    const tail = `matching ${action} rule at index ${at}`;
    for (const { name: container, code } of exitCodes(pod)) {
      if (onExitCodes === undefined || code === 0) continue;
      const { containerName = container, operator, values } = onExitCodes;
      if (containerName !== container || values.includes(code) !== (operator === "In")) continue;
      const message = `Container ${container} for pod ${namespace}/${name} failed with exit code ${code} ${tail}`;
      return { action, message };
    }
    for (const { type, status = "True" } of onPodConditions ?? []) {
      if (!pod.status?.conditions?.some((one) => one.type === type && one.status === status))
        continue;
      return { action, message: `Pod ${namespace}/${name} has condition ${type} ${tail}` };
    }
  }
  return undefined;
}

function exitCodes(pod: Pod): readonly { readonly name: string; readonly code: number }[] {
  const all = [
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.containerStatuses ?? []),
  ];
  return all.flatMap(({ name, state }) => {
    const code = (state as { terminated?: { exitCode?: number } } | undefined)?.terminated
      ?.exitCode;
    return code === undefined ? [] : [{ name, code }];
  });
}

/** How many pods should run now. Without `completions` one success is enough. */
export function wantedActive(job: Job, { active, succeeded }: Counts): number {
  const parallelism = job.spec.parallelism ?? 1;
  const { completions } = job.spec;
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.min(parallelism, Math.max(0, completions - succeeded));
}

/** Indexes that need a pod, the lowest first. */
export function missingIndexes(job: Job, { active, completedIndexes }: Counts): readonly number[] {
  const taken = new Set([...completedIndexes, ...active.map(indexOf)]);
  const all = Array.from({ length: job.spec.completions ?? 0 }, (_, index) => index);
  return all.filter((index) => !taken.has(index));
}

/** Whether the Job is complete or has failed. Undefined while it continues. */
export function verdictOf(job: Job, counts: Counts, nowMs: number): JobVerdict | undefined {
  const decided = job.status?.conditions?.find(({ type }) => type === "FailureTarget");
  if (decided !== undefined) {
    return { type: "Failed", reason: decided.reason ?? "", message: decided.message ?? "" };
  }
  if (counts.fatal !== undefined)
    return { type: "Failed", reason: "PodFailurePolicy", message: counts.fatal };
  if (counts.failed > (job.spec.backoffLimit ?? DEFAULT_BACKOFF_LIMIT)) {
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

/** Milliseconds until the Job's deadline, at least 0. Undefined: it has no deadline, or it has not started. */
export function untilDeadline(job: Job, nowMs: number): number | undefined {
  const startedAt = fromRfc3339(job.status?.["startTime"] as string | undefined);
  const { activeDeadlineSeconds } = job.spec;
  if (startedAt === undefined || activeDeadlineSeconds === undefined) return undefined;
  return Math.max(0, startedAt + activeDeadlineSeconds * 1_000 - nowMs);
}

/** Whether each pod of the Job has an index. Then each index must succeed. */
export function isIndexed(job: Job): boolean {
  return job.spec.completionMode === "Indexed";
}

/** Whether the pod still has the tracking finalizer, so it is not counted yet. */
export function isTracked({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
}

function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[INDEX_LABEL] ?? -1);
}

/** Parses `0,2-4` to numbers. */
function parseIndexes(text = ""): readonly number[] {
  return text.split(",").flatMap((range) => {
    if (range === "") return [];
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

/** Formats sorted numbers as `0,2-4`. */
export function formatIndexes(indexes: readonly number[]): string {
  const ranges: { first: number; last: number }[] = [];
  for (const index of indexes) {
    const range = ranges.at(-1);
    if (range?.last === index - 1) range.last = index;
    else ranges.push({ first: index, last: index });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",");
}
