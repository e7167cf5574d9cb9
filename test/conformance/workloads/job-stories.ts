/** Jobs until they finish, and CronJobs with a schedule of each minute. */
import { ALL, spec, template, workload } from "./steps.ts";
import type { Step, Story } from "./story.ts";

function job(name: string, jobSpec: object, ...steps: Step[]): Story {
  const pod = template("app:1", { restartPolicy: "Never" });
  return {
    name: `job-${name}`,
    steps: [workload("Job", { template: pod, ...jobSpec }), ALL, ...steps],
  };
}

const onExitCode = (action: string, code: number): object => ({
  action,
  onExitCodes: { containerName: "main", operator: "In", values: [code] },
});

export const JOBS: readonly Story[] = [
  job("one", {}, { end: "Succeeded" }),
  job(
    "three-of-two",
    { completions: 3, parallelism: 2 },
    { end: "Succeeded", count: 1 },
    ALL,
    { end: "Succeeded" },
    ALL,
    { end: "Succeeded" },
  ),
  job("queue", { parallelism: 3 }, { end: "Succeeded", count: 1 }, { end: "Succeeded" }),
  job("fails", { backoffLimit: 1 }, { end: "Failed" }, { wait: 11_000 }, ALL, { end: "Failed" }),
  job(
    "fails-with-others",
    { backoffLimit: 0, parallelism: 2, completions: 2 },
    { end: "Failed", count: 1 },
    { gone: "all" },
  ),
  job("ttl", { ttlSecondsAfterFinished: 4 }, { end: "Succeeded" }, { wait: 5_000 }),
  job(
    "deadline",
    { activeDeadlineSeconds: 20, parallelism: 2, completions: 2 },
    { wait: 20_000 },
    { gone: "all" },
  ),
  job(
    "suspended",
    { parallelism: 2, completions: 2 },
    spec("jobs", { suspend: true }),
    { gone: "all" },
    spec("jobs", { suspend: false }),
    ALL,
    { end: "Succeeded" },
  ),
  job(
    "wider-and-narrower",
    { parallelism: 2, completions: 6 },
    spec("jobs", { parallelism: 4 }),
    ALL,
    spec("jobs", { parallelism: 1 }),
    { gone: "all" },
  ),
  job(
    "indexed",
    { completionMode: "Indexed", completions: 3, parallelism: 2 },
    { end: "Succeeded", count: 1 },
    ALL,
    { end: "Failed", count: 1 },
    { wait: 11_000 },
    ALL,
    { end: "Succeeded" },
  ),
  job(
    "fail-policy",
    {
      backoffLimit: 6,
      parallelism: 2,
      completions: 2,
      podFailurePolicy: { rules: [onExitCode("FailJob", 42)] },
    },
    { end: "Failed", count: 1, exitCode: 42 },
    { gone: "all" },
  ),
  job(
    "ignore-policy",
    { backoffLimit: 0, podFailurePolicy: { rules: [onExitCode("Ignore", 42)] } },
    { end: "Failed", exitCode: 42 },
    ALL,
    { end: "Succeeded" },
  ),
  job("pod-lost", {}, { evict: 1 }, { gone: "all" }, ALL, { end: "Succeeded" }),
  job("deleted", { parallelism: 2, completions: 2 }, { delete: "jobs/web" }, { gone: "all" }),
];

function cronJob(name: string, cronSpec: object, ...steps: Step[]): Story {
  const jobTemplate = { spec: { template: template("app:1", { restartPolicy: "Never" }) } };
  const created: Step = {
    create: {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "web" },
      spec: { schedule: "* * * * *", jobTemplate, ...cronSpec },
    },
  };
  return { name: `cronjob-${name}`, steps: [created, ...steps] };
}

/** Waits until 3 s after the full minute, when the Jobs that were due exist. */
const MINUTE = { minute: 3_000 } as const;

export const CRON_JOBS: readonly Story[] = [
  cronJob("allow", {}, MINUTE, ALL, MINUTE, ALL, { end: "Succeeded" }),
  cronJob("forbid", { concurrencyPolicy: "Forbid" }, MINUTE, ALL, MINUTE, { end: "Failed" }),
  cronJob("replace", { concurrencyPolicy: "Replace" }, MINUTE, ALL, MINUTE, { gone: "all" }),
  cronJob(
    "history",
    { successfulJobsHistoryLimit: 1 },
    MINUTE,
    { ready: "" },
    { end: "Succeeded" },
    MINUTE,
    { ready: "" },
    { end: "Succeeded" },
    { patch: "cronjobs/web", with: { spec: { suspend: true } } },
    MINUTE,
  ),
];
