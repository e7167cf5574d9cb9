/** How many pods a workload wants to run, as a cluster's controllers would compute it. */
import type { CronJob, Deployment, Job } from "../../apis/apps/kinds.ts";
import { controllerOf, type KubeObject, keyOf } from "../../apis/meta.ts";
import { compareText } from "../../base/text-order.ts";

/** The fields of a HorizontalPodAutoscaler that count. They are equal in both versions. */
export interface Autoscaler extends KubeObject {
  readonly spec: {
    readonly scaleTargetRef: { readonly kind: string; readonly name: string };
    readonly minReplicas?: number;
    readonly maxReplicas: number;
  };
}

/**
 * The wanted pods: replicas within the bounds of all autoscalers; for a Job, the pods that may run in parallel and are
 * not done.
 */
export function wantedPods(workload: KubeObject, autoscalers: readonly Autoscaler[]): number {
  if (workload.kind === "Job") return wantedOfJob(workload as Job);
  const replicas = (workload as Deployment).spec.replicas ?? 1;
  const own = autoscalers.filter((one) => targets(one, workload));
  // With zero replicas, an autoscaler is switched off.
  if (own.length === 0 || replicas === 0) return replicas;
  // Each autoscaler enforces its bounds. If they contradict each other the size changes back and forth, so the
  // largest counts.
  const least = Math.max(...own.map(({ spec }) => spec.minReplicas ?? 1));
  const most = Math.min(...own.map(({ spec }) => spec.maxReplicas));
  return Math.max(least, Math.min(most, replicas));
}

/**
 * Names of workloads with `spec.replicas: 0`, sorted: `Deployment default/inflate`. Left out are those that another
 * object owns, such as the old ReplicaSets of a Deployment.
 */
export function workloadsWithoutReplicas(workloads: readonly KubeObject[]): readonly string[] {
  return workloads
    .filter((one) => one.kind !== "Job" && controllerOf(one) === undefined)
    .filter((one) => (one as Deployment).spec.replicas === 0)
    .map((one) => `${one.kind} ${one.metadata.namespace ?? "default"}/${one.metadata.name}`)
    .sort(compareText);
}

/** The field that sets the size: of the workload, or of the autoscaler that raises it. */
export function sizeField(workload: KubeObject, autoscalers: readonly Autoscaler[]): string {
  if (workload.kind === "Job") return "parallelism";
  const { replicas = 1 } = (workload as Deployment).spec;
  const wanted = wantedPods(workload, autoscalers);
  if (wanted <= replicas) return "replicas";
  const raises = autoscalers.find(
    (one) => targets(one, workload) && one.spec.minReplicas === wanted,
  );
  return `replicas, by spec.minReplicas of HorizontalPodAutoscaler ${raises?.metadata.name}`;
}

/** The Job that the next run of a CronJob would create. */
export function nextRun({ metadata, spec }: CronJob): Job {
  const { jobTemplate, suspend } = spec;
  const { name, namespace = "default", uid = "", creationTimestamp } = metadata;
  const owner = { apiVersion: "batch/v1", kind: "CronJob", name, uid, controller: true };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      ...jobTemplate.metadata,
      name: `${name}-next`,
      namespace,
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ownerReferences: [owner],
    },
    spec: suspend === true ? { ...jobTemplate.spec, suspend } : jobTemplate.spec,
  };
}

function wantedOfJob({ spec, status = {} }: Job): number {
  const { suspend, parallelism = 1, completions = Number.POSITIVE_INFINITY } = spec;
  if (suspend === true || isOver(status)) return 0;
  return Math.min(parallelism, Math.max(0, completions - (status.succeeded ?? 0)));
}

/** Whether the Job is complete or has failed. */
function isOver({ conditions = [] }: NonNullable<Job["status"]>): boolean {
  return conditions.some(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
}

function targets({ metadata, spec }: Autoscaler, workload: KubeObject): boolean {
  const { kind, name } = spec.scaleTargetRef;
  const target = { metadata: { name, namespace: metadata.namespace ?? "default" } };
  return kind === workload.kind && keyOf(target) === keyOf(workload);
}
