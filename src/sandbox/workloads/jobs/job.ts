/**
 * The Job controller. It runs pods until enough have succeeded or too many have failed, within `parallelism`,
 * `backoffLimit`, `activeDeadlineSeconds` and the failure policy. It deletes finished Jobs after
 * `ttlSecondsAfterFinished`. Each pod has a finalizer until it is counted.
 */
import { JOB, type Job } from "../../../apis/apps/kinds.ts";
import { POD, type Pod } from "../../../apis/core/pod.ts";
import { isReady } from "../../../apis/core/pod-predicates.ts";
import { type Condition, controllerOf, keyOf } from "../../../apis/meta.ts";
import { fromRfc3339, toRfc3339 } from "../../../base/clock.ts";
import { deleteIfThere } from "../../../kube/client/delete-if-there.ts";
import { patchObject } from "../../../kube/client/patch-object.ts";
import type { EventRecorder } from "../../../kube/events/events.ts";
import {
  AWAIT_CHANGE,
  type Controller,
  type Outcome,
  type Request,
  requeueAfter,
  source,
} from "../../../kube/manager/controller.ts";
import { createPartRecorder, type PartDeps, podMirror, subject } from "../../parts.ts";
import { createPod, podsOwnedBy, removePod, requestsToOwner, slowStart } from "../controls.ts";
import {
  type Counts,
  countPods,
  isTracked,
  TRACKING_FINALIZER,
  untilDeadline,
  verdictOf,
  wantedActive,
} from "./job-counts.ts";
import { newPodsOf } from "./job-pods.ts";
import { Retries } from "./job-retries.ts";
import { type Look, statusAfter } from "./job-status.ts";

interface Filled {
  /** Number of pods that were deleted. */
  readonly leaving: number;
  /** How long a retry must wait. Absent: no retry waits. */
  readonly waitMs?: number;
}

/** Runs the pods of Jobs. upstream: pkg/controller/job of Kubernetes. */
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
      await free(kube, orphansOf(podMirror(mirrors).list(), namespace, name));
      return AWAIT_CHANGE;
    }
    const finishedAt = finishedMs(job);
    const counts = countPods(job, podsOwnedBy(deps, job));
    if (finishedAt !== undefined || job.metadata.deletionTimestamp !== undefined) {
      await free(kube, counts.finished);
      return finishedAt === undefined ? AWAIT_CHANGE : removeWhenDue(deps, job, finishedAt);
    }
    const now = clock.now();
    retries.note(job, counts.finished, now);
    const verdict = verdictOf(job, counts, now);
    const suspended = job.spec.suspend === true;
    const rests = verdict !== undefined || suspended;
    const { leaving, waitMs } = rests
      ? { leaving: await dismiss(deps, recorder, job, counts.active) }
      : await fill(job, counts, now);
    await report(job, { counts, verdict, leaving, suspended });
    await free(kube, counts.finished);
    return rests ? AWAIT_CHANGE : soonestOf(waitMs, untilDeadline(job, now));
  }

  /** Creates or deletes pods to reach the wanted number. */
  async function fill(job: Job, counts: Counts, now: number): Promise<Filled> {
    const wanted = wantedActive(job, counts);
    const byUse = [...counts.active].sort((a, b) => Number(isReady(b)) - Number(isReady(a)));
    const leaving = await dismiss(deps, recorder, job, byUse.slice(wanted));
    const missing = wanted - counts.active.length;
    if (missing <= 0) return { leaving };
    const waitMs = retries.waitMs(job, now);
    if (waitMs > 0) return { leaving, waitMs };
    const pods = newPodsOf(job, counts, missing, random);
    await slowStart(pods.map((pod) => () => createPod(deps, recorder, JOB, job, pod)));
    return { leaving };
  }

  async function report(before: Job, seen: Omit<Look, "now">): Promise<void> {
    const job = jobs.get(keyOf(before)) ?? before;
    const now = countPods(job, podsOwnedBy(deps, job));
    const { status, news } = statusAfter(job, { ...seen, now }, toRfc3339(clock.now()));
    const object = subject(JOB, job);
    recorder.publish(...news.map((one) => ({ object, ...one })));
    await patchObject(kube, JOB, job, { ...job, status } as Job);
  }

  return {
    name: "job",
    watches: [source(JOB), source(POD, requestsToOwner("Job"))],
    concurrency: 4,
    reconcile,
  };
}

/** Deletes pods without counting them. Returns their number. */
async function dismiss(
  deps: PartDeps,
  recorder: EventRecorder,
  job: Job,
  pods: readonly Pod[],
): Promise<number> {
  await free(deps.kube, pods);
  await Promise.all(pods.map((pod) => removePod(deps, recorder, JOB, job, pod)));
  return pods.length;
}

/** Removes the finalizer: the pod has been counted, or its Job is gone. */
async function free(kube: PartDeps["kube"], pods: readonly Pod[]): Promise<void> {
  await Promise.all(
    pods.filter(isTracked).map(async (pod) => {
      const finalizers = pod.metadata.finalizers?.filter((one) => one !== TRACKING_FINALIZER);
      const metadata = { ...pod.metadata, finalizers: finalizers ?? [] };
      await patchObject(kube, POD, pod, { ...pod, metadata });
    }),
  );
}

/** Tracked pods whose Job does not exist. */
function orphansOf(
  pods: readonly Pod[],
  namespace: string | undefined,
  jobName: string,
): readonly Pod[] {
  return pods
    .filter((pod) => pod.metadata.namespace === namespace && isTracked(pod))
    .filter((pod) => controllerOf(pod)?.kind === "Job" && controllerOf(pod)?.name === jobName);
}

async function removeWhenDue({ clock, kube }: PartDeps, job: Job, finishedAt: number) {
  const ttl = job.spec.ttlSecondsAfterFinished;
  if (ttl === undefined) return AWAIT_CHANGE;
  const waitMs = finishedAt + ttl * 1_000 - clock.now();
  if (waitMs > 0) return requeueAfter(waitMs);
  await deleteIfThere(kube, JOB, job, { propagationPolicy: "Foreground" });
  return AWAIT_CHANGE;
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
