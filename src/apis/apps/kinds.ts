/** The workload kinds of apps/v1 and batch/v1. */

import type { PodSpec } from "../core/pod.ts";
import type { Condition, Kind, KubeObject, LabelSelector, ObjectMeta } from "../meta.ts";

/** The template of the pods that a workload creates. */
export interface PodTemplateSpec {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec: PodSpec;
}

/** A Deployment of apps/v1. `replicas` defaults to 1. */
export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly strategy?: {
      readonly type?: "RollingUpdate" | "Recreate";
      readonly rollingUpdate?: {
        readonly maxSurge?: number | string;
        readonly maxUnavailable?: number | string;
      };
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly paused?: boolean;
    readonly progressDeadlineSeconds?: number;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly conditions?: readonly Condition[];
    readonly [f: string]: unknown;
  };
}

/** A ReplicaSet of apps/v1. `replicas` defaults to 1. */
export interface ReplicaSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly minReadySeconds?: number;
  };
  readonly status?: {
    readonly replicas?: number;
    readonly conditions?: readonly Condition[];
    readonly [f: string]: unknown;
  };
}

/** A StatefulSet of apps/v1. Its pods are numbered, and each has its own volume claims. */
export interface StatefulSet extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly serviceName?: string;
    readonly podManagementPolicy?: "OrderedReady" | "Parallel";
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
    readonly volumeClaimTemplates?: readonly KubeObject[];
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
    readonly ordinals?: { readonly start?: number };
  };
  readonly status?: { readonly replicas?: number; readonly [f: string]: unknown };
}

/** A DaemonSet of apps/v1. It runs one pod on each node that its pods tolerate and select. */
export interface DaemonSet extends KubeObject {
  readonly spec: {
    readonly selector: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: {
        readonly maxUnavailable?: number | string;
        readonly maxSurge?: number | string;
      };
    };
    readonly minReadySeconds?: number;
    readonly revisionHistoryLimit?: number;
  };
  readonly status?: { readonly [f: string]: unknown };
}

/** One template that a StatefulSet or DaemonSet has or had. A rollback returns to it. */
export interface ControllerRevision extends KubeObject {
  readonly revision: number;
  readonly data?: {
    readonly spec?: { readonly template?: PodTemplateSpec & { readonly $patch?: string } };
  };
}

/** A Job of batch/v1. At most `parallelism` pods run at the same time, until `completions` of them have succeeded. */
export interface Job extends KubeObject {
  readonly spec: {
    readonly parallelism?: number;
    readonly completions?: number;
    readonly backoffLimit?: number;
    readonly selector?: LabelSelector;
    readonly template: PodTemplateSpec;
    readonly ttlSecondsAfterFinished?: number;
    readonly activeDeadlineSeconds?: number;
    readonly suspend?: boolean;
    readonly completionMode?: "NonIndexed" | "Indexed";
    readonly podReplacementPolicy?: "TerminatingOrFailed" | "Failed";
    readonly podFailurePolicy?: { readonly rules: readonly PodFailureRule[] };
  };
  readonly status?: {
    readonly succeeded?: number;
    readonly conditions?: readonly Condition[];
    readonly [f: string]: unknown;
  };
}

/** A CronJob of batch/v1. `schedule`: in cron format, in the time zone `timeZone` or in the controller's own. */
export interface CronJob extends KubeObject {
  readonly spec: {
    readonly schedule: string;
    readonly timeZone?: string;
    readonly concurrencyPolicy?: "Allow" | "Forbid" | "Replace";
    readonly suspend?: boolean;
    readonly startingDeadlineSeconds?: number;
    readonly successfulJobsHistoryLimit?: number;
    readonly failedJobsHistoryLimit?: number;
    readonly jobTemplate: {
      readonly metadata?: Pick<KubeObject["metadata"], "labels" | "annotations">;
      readonly spec: Job["spec"];
    };
  };
  readonly status?: {
    readonly active?: readonly (Required<
      Pick<KubeObject["metadata"], "name" | "namespace" | "uid">
    > & {
      readonly apiVersion: string;
      readonly kind: string;
      readonly resourceVersion: string;
    })[];
    readonly lastScheduleTime?: string;
    readonly lastSuccessfulTime?: string;
  };
}

/** One rule of a Job's podFailurePolicy: what a failed pod means for the Job. */
export interface PodFailureRule {
  readonly action: string;
  readonly onExitCodes?: {
    readonly containerName?: string;
    readonly operator: "In" | "NotIn";
    readonly values: readonly number[];
  };
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
}

function apps<T extends KubeObject>(kind: string, plural: string): Kind<T> {
  return { group: "apps", version: "v1", kind, plural, namespaced: true };
}

export const DEPLOYMENT: Kind<Deployment> = apps("Deployment", "deployments");
export const REPLICA_SET: Kind<ReplicaSet> = apps("ReplicaSet", "replicasets");
export const STATEFUL_SET: Kind<StatefulSet> = apps("StatefulSet", "statefulsets");
export const DAEMON_SET: Kind<DaemonSet> = apps("DaemonSet", "daemonsets");
export const CONTROLLER_REVISION: Kind<ControllerRevision> = apps(
  "ControllerRevision",
  "controllerrevisions",
);
/** The kind that ReplicaSets have replaced. */
export const REPLICATION_CONTROLLER: Kind<KubeObject> = {
  group: "",
  version: "v1",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  namespaced: true,
};
export const JOB: Kind<Job> = {
  group: "batch",
  version: "v1",
  kind: "Job",
  plural: "jobs",
  namespaced: true,
};
export const CRON_JOB: Kind<CronJob> = {
  group: "batch",
  version: "v1",
  kind: "CronJob",
  plural: "cronjobs",
  namespaced: true,
};
