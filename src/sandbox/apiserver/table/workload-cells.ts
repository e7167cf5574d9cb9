/** Table rows of the workloads. upstream: pkg/printers/internalversion/printers.go */
import type { Raw } from "../registry/kind-rules.ts";
import { ageCell, humanDuration, sinceCell } from "./age.ts";
import { type Cells, containerCells, formatLabels, formatSelector, NONE } from "./cell.ts";

/** The cells of one row of `kubectl get deployments`. */
export const deploymentCells: Cells = (deployment, nowMs) => {
  const { metadata, spec = {}, status = {} } = deployment;
  return [
    metadata.name,
    `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    status.updatedReplicas ?? 0,
    status.availableReplicas ?? 0,
    ageCell(deployment, nowMs),
    ...containerCells(spec.template?.spec),
    formatSelector(spec.selector),
  ];
};

/** The cells of one row of `kubectl get replicasets`. */
export const replicaSetCells: Cells = (replicaSet, nowMs) => {
  const { metadata, spec = {}, status = {} } = replicaSet;
  return [
    metadata.name,
    spec.replicas ?? 0,
    status.replicas ?? 0,
    status.readyReplicas ?? 0,
    ageCell(replicaSet, nowMs),
    ...containerCells(spec.template?.spec),
    formatSelector(spec.selector),
  ];
};

/** The cells of one row of `kubectl get replicationcontrollers`. */
export const replicationControllerCells: Cells = (controller, nowMs) => {
  const row = [...replicaSetCells(controller, nowMs)];
  row[row.length - 1] = formatLabels(controller.spec?.selector);
  return row;
};

/** The cells of one row of `kubectl get statefulsets`. */
export const statefulSetCells: Cells = (statefulSet, nowMs) => {
  const { metadata, spec = {}, status = {} } = statefulSet;
  return [
    metadata.name,
    `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    ageCell(statefulSet, nowMs),
    ...containerCells(spec.template?.spec),
  ];
};

/** The cells of one row of `kubectl get daemonsets`. */
export const daemonSetCells: Cells = (daemonSet, nowMs) => {
  const { metadata, spec = {}, status = {} } = daemonSet;
  return [
    metadata.name,
    status.desiredNumberScheduled ?? 0,
    status.currentNumberScheduled ?? 0,
    status.numberReady ?? 0,
    status.updatedNumberScheduled ?? 0,
    status.numberAvailable ?? 0,
    formatLabels(spec.template?.spec?.nodeSelector),
    ageCell(daemonSet, nowMs),
    ...containerCells(spec.template?.spec),
    formatSelector(spec.selector),
  ];
};

/** The cells of one row of `kubectl get jobs`. */
export const jobCells: Cells = (job, nowMs) => {
  const { metadata, spec = {}, status = {} } = job;
  const succeeded = status.succeeded ?? 0;
  let completions = `${succeeded}/${spec.completions}`;
  if (spec.completions === undefined) {
    const parallelism = spec.parallelism ?? 1;
    completions = parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
  }
  return [
    metadata.name,
    jobStatus(job),
    completions,
    jobDuration(status, nowMs),
    ageCell(job, nowMs),
    ...containerCells(spec.template?.spec),
    formatSelector(spec.selector),
  ];
};

/** The cells of one row of `kubectl get cronjobs`. */
export const cronJobCells: Cells = (cronJob, nowMs) => {
  const { metadata, spec = {}, status = {} } = cronJob;
  return [
    metadata.name,
    spec.schedule,
    spec.timeZone ?? NONE,
    spec.suspend === true ? "True" : "False",
    (status.active ?? []).length,
    status.lastScheduleTime === undefined ? NONE : sinceCell(status.lastScheduleTime, nowMs),
    ageCell(cronJob, nowMs),
    ...containerCells(spec.jobTemplate?.spec?.template?.spec),
    formatSelector(spec.jobTemplate?.spec?.selector),
  ];
};

/** The cells of one row of `kubectl get controllerrevisions`. */
export const controllerRevisionCells: Cells = (revision, nowMs) => {
  const owner = (revision.metadata.ownerReferences ?? []).find((o: Raw) => o.controller === true);
  const group = owner?.apiVersion?.split("/")[0] ?? "";
  const kind = owner === undefined ? "" : owner.kind.toLowerCase();
  return [
    revision.metadata.name,
    owner === undefined ? NONE : `${kind}${group === "" ? "" : `.${group}`}/${owner.name}`,
    revision.revision ?? 0,
    ageCell(revision, nowMs),
  ];
};

/** The cells of one row of `kubectl get podtemplates`. */
export const podTemplateCells: Cells = ({ metadata, template = {} }) => [
  metadata.name,
  ...containerCells(template.spec),
  formatLabels(template.metadata?.labels),
];

function jobStatus(job: Raw): string {
  const isTrue = (type: string): boolean =>
    (job.status?.conditions ?? []).some((c: Raw) => c.type === type && c.status === "True");
  if (isTrue("Complete")) return "Complete";
  if (isTrue("Failed")) return "Failed";
  if (job.metadata.deletionTimestamp !== undefined) return "Terminating";
  if (isTrue("Suspended")) return "Suspended";
  if (isTrue("FailureTarget")) return "FailureTarget";
  return isTrue("SuccessCriteriaMet") ? "SuccessCriteriaMet" : "Running";
}

function jobDuration(status: Raw, nowMs: number): string {
  if (status.startTime === undefined) return "";
  const fromMs = Date.parse(status.startTime);
  const toMs = status.completionTime === undefined ? nowMs : Date.parse(status.completionTime);
  return humanDuration(toMs - fromMs);
}
