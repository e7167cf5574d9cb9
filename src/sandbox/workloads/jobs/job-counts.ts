/**
 * The arithmetic of a Job, without any effect: which pods count as succeeded or failed, what a failure policy
 * says of a failed pod, which indexes are done, and whether the Job has come to its end.
 */
import type { Job } from "../../../apis/apps/kinds.ts";
import { isActive, isTerminal, isTerminating, type Pod } from "../../../apis/core/pod.ts";
import { fromRfc3339 } from "../../../base/clock.ts";

/** On pods that are not counted yet: they stay, even deleted, until they are. */
export const TRACKING_FINALIZER = "batch.kubernetes.io/job-tracking";
export const INDEX_LABEL = "batch.kubernetes.io/job-completion-index";
const DEFAULT_BACKOFF_LIMIT = 6;

/** The pods of a Job by state. */
export interface Counts {
  readonly active: readonly Pod[];
  /** Being deleted, and still running. */
  readonly terminating: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Ended since the last look: they are in the numbers above from now on. */
  readonly finished: readonly Pod[];
  /** Of an indexed Job, in order. */
  readonly completedIndexes: readonly number[];
  /** A failure policy ends the Job. */
  readonly fatal: string | undefined;
}

/** How the Job ended, and why. */
export interface Verdict {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

/** Counts each pod once, also after it is gone. */
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

/** A pod that leaves has failed, unless only pods that ended are replaced. */
function hasFinished(job: Job, pod: Pod): boolean {
  if (isTerminal(pod)) return true;
  const onlyEnded =
    job.spec.podReplacementPolicy === "Failed" || job.spec.podFailurePolicy !== undefined;
  return isTerminating(pod) && !onlyEnded;
}

/** The first rule of the failure policy that a failed pod matches, and the words for it. */
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

/** Indexes of which no pod is needed are left out; the lowest come first. */
export function missingIndexes(job: Job, { active, completedIndexes }: Counts): readonly number[] {
  const taken = new Set([...completedIndexes, ...active.map(indexOf)]);
  const all = Array.from({ length: job.spec.completions ?? 0 }, (_, index) => index);
  return all.filter((index) => !taken.has(index));
}

/** Whether the Job is complete or has failed; undefined while it goes on. */
export function verdictOf(job: Job, counts: Counts, nowMs: number): Verdict | undefined {
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

/** Milliseconds until `activeDeadlineSeconds` is over, at least 0; undefined without one. */
export function untilDeadline(job: Job, nowMs: number): number | undefined {
  const startedAt = fromRfc3339(job.status?.["startTime"] as string | undefined);
  const { activeDeadlineSeconds } = job.spec;
  if (startedAt === undefined || activeDeadlineSeconds === undefined) return undefined;
  return Math.max(0, startedAt + activeDeadlineSeconds * 1_000 - nowMs);
}

/** Each pod of the Job has an index, and each index must succeed. */
export function isIndexed(job: Job): boolean {
  return job.spec.completionMode === "Indexed";
}

/** The pod is not counted yet: a finalizer keeps it until then. */
export function isTracked({ metadata }: Pod): boolean {
  return metadata.finalizers?.includes(TRACKING_FINALIZER) === true;
}

function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[INDEX_LABEL] ?? -1);
}

/** `0,2-4` to numbers. */
function parseIndexes(text = ""): readonly number[] {
  return text.split(",").flatMap((range) => {
    if (range === "") return [];
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, at) => first + at);
  });
}

/** Numbers, in order, to `0,2-4`. */
export function formatIndexes(indexes: readonly number[]): string {
  const ranges: { first: number; last: number }[] = [];
  for (const index of indexes) {
    const range = ranges.at(-1);
    if (range?.last === index - 1) range.last = index;
    else ranges.push({ first: index, last: index });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",");
}
