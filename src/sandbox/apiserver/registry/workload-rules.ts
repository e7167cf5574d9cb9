/**
 * Rules of Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job and CronJob: defaults
 * and validation.
 * upstream: pkg/apis/{apps,batch}/v1/defaults.go, pkg/apis/{apps,batch}/validation
 */
import { deepEqual } from "../../../base/json.ts";
import { forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import { validateLabels } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, nullTimes, type Raw } from "./kind-rules.ts";
import { defaultPodSpec } from "./pod-spec.ts";
import { validatePodSpec } from "./pod-spec-validation.ts";
import { scheduleProblem, timeZoneProblem } from "./schedule-problem.ts";
import { validateImmutable, validateWorkloadSelector } from "./selector-rules.ts";
import { CLAIM_RULES } from "./storage-rules.ts";

const DEFAULT_HISTORY = 10;
const DEFAULT_PROGRESS_SECONDS = 600;

const STATEFUL_SET_TEXT =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', " +
  "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and " +
  "'minReadySeconds' are forbidden";

/** Defaults and validation of a Deployment. */
export const DEPLOYMENT_RULES: KindRules = {
  defaults({ spec = {}, status }) {
    fallback(spec, "replicas", 1);
    spec.strategy ??= {};
    fallback(spec.strategy, "type", "RollingUpdate");
    if (spec.strategy.type === "RollingUpdate") {
      spec.strategy.rollingUpdate ??= {};
      fallback(spec.strategy.rollingUpdate, "maxUnavailable", "25%");
      fallback(spec.strategy.rollingUpdate, "maxSurge", "25%");
    }
    fallback(spec, "revisionHistoryLimit", DEFAULT_HISTORY);
    fallback(spec, "progressDeadlineSeconds", DEFAULT_PROGRESS_SECONDS);
    defaultTemplate(spec);
    nullTimes(status?.conditions, ["lastUpdateTime", "lastTransitionTime"]);
  },
  validate(deployment, current) {
    const spec = deployment.spec ?? {};
    const errors = [
      ...validateReplicas(spec.replicas),
      ...validateWorkloadSelector(spec, "deployment"),
      ...validateTemplate(spec, ["Always"]),
    ];
    if (spec.strategy?.type === "Recreate" && spec.strategy.rollingUpdate !== undefined) {
      const text = "may not be specified when strategy `type` is 'Recreate'";
      errors.push(forbidden("spec.strategy.rollingUpdate", text));
    }
    const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {};
    if (isZero(maxSurge) && isZero(maxUnavailable)) {
      const text = "may not be 0 when `maxSurge` is 0";
      errors.push(invalid("spec.strategy.rollingUpdate.maxUnavailable", maxUnavailable, text));
    }
    if (spec.minReadySeconds >= spec.progressDeadlineSeconds) {
      const text = "must be greater than minReadySeconds";
      errors.push(invalid("spec.progressDeadlineSeconds", spec.progressDeadlineSeconds, text));
    }
    return [...errors, ...validateSelectorKept(deployment, current)];
  },
};

function isZero(value: unknown): boolean {
  return value === 0 || value === "0%";
}

/** Defaults and validation of a ReplicaSet, and its first status. */
export const REPLICA_SET_RULES: KindRules = {
  prepareCreate(replicaSet) {
    replicaSet.status = { replicas: 0 };
  },
  defaults({ spec = {} }) {
    fallback(spec, "replicas", 1);
    defaultTemplate(spec);
  },
  validate(replicaSet, current) {
    const spec = replicaSet.spec ?? {};
    return [
      ...validateReplicas(spec.replicas),
      ...validateWorkloadSelector(spec, "deployment"),
      ...validateTemplate(spec, ["Always"]),
      ...validateSelectorKept(replicaSet, current),
    ];
  },
};

/** Defaults and validation of a ReplicationController, and its first status. */
export const REPLICATION_CONTROLLER_RULES: KindRules = {
  defaults(controller) {
    const { spec = {} } = controller;
    fallback(spec, "replicas", 1);
    const { labels } = spec.template?.metadata ?? {};
    if (labels !== undefined) {
      fallback(spec, "selector", { ...labels });
      if (Object.keys(controller.metadata.labels ?? {}).length === 0)
        controller.metadata.labels = { ...labels };
    }
    defaultTemplate(spec);
  },
  prepareCreate(controller) {
    controller.status = { replicas: 0 };
  },
  validate: ({ spec = {} }) => [
    ...validateReplicas(spec.replicas),
    ...validateTemplate(spec, ["Always"]),
  ],
};

/** Defaults and validation of a StatefulSet, and its first status. */
export const STATEFUL_SET_RULES: KindRules = {
  prepareCreate(statefulSet) {
    statefulSet.status = { replicas: 0, availableReplicas: 0 };
    fallback(statefulSet.spec, "serviceName", "");
  },
  defaults({ spec = {} }) {
    fallback(spec, "replicas", 1);
    fallback(spec, "podManagementPolicy", "OrderedReady");
    spec.updateStrategy ??= {};
    fallback(spec.updateStrategy, "type", "RollingUpdate");
    if (spec.updateStrategy.type === "RollingUpdate") {
      spec.updateStrategy.rollingUpdate ??= {};
      fallback(spec.updateStrategy.rollingUpdate, "partition", 0);
    }
    spec.persistentVolumeClaimRetentionPolicy ??= {};
    fallback(spec.persistentVolumeClaimRetentionPolicy, "whenDeleted", "Retain");
    fallback(spec.persistentVolumeClaimRetentionPolicy, "whenScaled", "Retain");
    fallback(spec, "revisionHistoryLimit", DEFAULT_HISTORY);
    for (const claim of spec.volumeClaimTemplates ?? []) {
      fallback(claim, "apiVersion", "v1");
      fallback(claim, "kind", "PersistentVolumeClaim");
      CLAIM_RULES.defaults?.(claim);
      fallback(claim, "status", { phase: "Pending" });
    }
    defaultTemplate(spec);
  },
  validate(statefulSet, current) {
    const spec = statefulSet.spec ?? {};
    const errors = [
      ...validateReplicas(spec.replicas),
      ...validateWorkloadSelector(spec, "statefulset"),
      ...validateTemplate(withClaimedVolumes(spec), ["Always"]),
    ];
    if (current !== undefined && !deepEqual(fixedPart(spec), fixedPart(current.spec))) {
      errors.push(forbidden("spec", STATEFUL_SET_TEXT));
    }
    return errors;
  },
};

/** The template with a volume for each volumeClaimTemplate. It replaces a volume of the same name. */
function withClaimedVolumes(spec: Raw): Raw {
  const claimed = (spec.volumeClaimTemplates ?? []).flatMap(({ metadata }: Raw) =>
    metadata?.name === undefined ? [] : [{ name: metadata.name }],
  );
  const podSpec = spec.template?.spec;
  if (claimed.length === 0 || podSpec === undefined) return spec;
  const names = new Set(claimed.map(({ name }: Raw) => name));
  const own = (podSpec.volumes ?? []).filter(({ name }: Raw) => !names.has(name));
  const volumes = [...own, ...claimed];
  return { ...spec, template: { ...spec.template, spec: { ...podSpec, volumes } } };
}

const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

/** Defaults and validation of a DaemonSet, its first status, and the template generation that updates raise. */
export const DAEMON_SET_RULES: KindRules = {
  innerAnnotation: TEMPLATE_GENERATION,
  prepareUpdate(daemonSet, current) {
    const before = Number(current.metadata?.annotations?.[TEMPLATE_GENERATION] ?? 0);
    const same = deepEqual(daemonSet.spec?.template, current.spec?.template);
    const generation = String(same ? before : before + 1);
    daemonSet.metadata.annotations = {
      ...daemonSet.metadata.annotations,
      [TEMPLATE_GENERATION]: generation,
    };
  },
  prepareCreate(daemonSet) {
    daemonSet.metadata.annotations = {
      ...daemonSet.metadata.annotations,
      [TEMPLATE_GENERATION]: "1",
    };
    daemonSet.status = {
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    };
  },
  defaults({ metadata, spec = {} }) {
    metadata.annotations = { [TEMPLATE_GENERATION]: "0", ...metadata.annotations };
    spec.updateStrategy ??= {};
    fallback(spec.updateStrategy, "type", "RollingUpdate");
    if (spec.updateStrategy.type === "RollingUpdate") {
      spec.updateStrategy.rollingUpdate ??= {};
      fallback(spec.updateStrategy.rollingUpdate, "maxUnavailable", 1);
      fallback(spec.updateStrategy.rollingUpdate, "maxSurge", 0);
    }
    fallback(spec, "revisionHistoryLimit", DEFAULT_HISTORY);
    defaultTemplate(spec);
  },
  validate(daemonSet, current) {
    const spec = daemonSet.spec ?? {};
    return [
      ...validateWorkloadSelector(spec, "daemonset"),
      ...validateTemplate(spec, ["Always"]),
      ...validateSelectorKept(daemonSet, current),
    ];
  },
};

/** Defaults and validation of a Job, and its labels and selector on create. */
export const JOB_RULES: KindRules = {
  defaults: ({ spec = {} }) => defaultJobSpec(spec),
  prepareCreate(job) {
    if (job.spec === undefined) return;
    if (job.spec.manualSelector !== true) generateJobSelector(job);
    // The Job gets the labels of its pod template, including generated ones.
    const { labels } = job.spec.template.metadata ?? {};
    if (Object.keys(job.metadata.labels ?? {}).length === 0 && labels !== undefined)
      job.metadata.labels = { ...labels };
  },
  validate(job, current) {
    const spec = job.spec ?? {};
    const errors = validateTemplate(spec, ["OnFailure", "Never"]);
    for (const name of ["parallelism", "completions", "backoffLimit"]) {
      if (spec[name] < 0) {
        const text = "must be greater than or equal to 0";
        errors.push(invalid(`spec.${name}`, spec[name], text));
      }
    }
    if (current === undefined) return errors;
    const before = current.spec;
    errors.push(...validateImmutable(spec.selector, before.selector, "spec.selector"));
    if (before.suspend !== true) {
      errors.push(...validateImmutable(spec.template, before.template, "spec.template"));
    }
    if (spec.completionMode !== "Indexed") {
      errors.push(...validateImmutable(spec.completions, before.completions, "spec.completions"));
    }
    return errors;
  },
};

/** Defaults and validation of a CronJob. */
export const CRON_JOB_RULES: KindRules = {
  defaults({ spec = {} }) {
    fallback(spec, "concurrencyPolicy", "Allow");
    fallback(spec, "suspend", false);
    fallback(spec, "successfulJobsHistoryLimit", 3);
    fallback(spec, "failedJobsHistoryLimit", 1);
    if (spec.jobTemplate?.spec !== undefined) {
      const { template } = spec.jobTemplate.spec;
      if (template !== undefined) {
        template.spec ??= {};
        defaultPodSpec(template.spec);
      }
    }
  },
  validate: ({ spec = {} }, current) => validateSchedule(spec, current?.spec?.schedule),
};

/**
 * Errors of a CronJob's schedule. `before`: the old schedule. A new schedule must not contain a time zone; `timeZone`
 * is the field for it.
 */
function validateSchedule({ schedule = "", timeZone }: Raw, before = ""): FieldError[] {
  const errors: FieldError[] = [];
  const problem = scheduleProblem(schedule);
  if (schedule === "") errors.push(required("spec.schedule"));
  else if (problem !== undefined) errors.push(invalid("spec.schedule", schedule, problem));
  if (schedule.includes("TZ") && (timeZone !== undefined || !before.includes("TZ"))) {
    const text = before.includes("TZ")
      ? "cannot use both timeZone field and TZ or CRON_TZ in schedule"
      : "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    errors.push(invalid("spec.schedule", schedule, text));
  }
  const strange = timeZone === undefined ? undefined : timeZoneProblem(timeZone);
  if (strange !== undefined) errors.push(invalid("spec.timeZone", timeZone, strange));
  return errors;
}

/** Defaults of a pod template. */
function defaultTemplate(spec: Raw): void {
  spec.template ??= {};
  spec.template.metadata ??= {};
  spec.template.spec ??= {};
  defaultPodSpec(spec.template.spec);
}

function defaultJobSpec(spec: Raw): void {
  if (spec.completions === undefined && spec.parallelism === undefined) {
    spec.completions = 1;
    spec.parallelism = 1;
  }
  fallback(spec, "parallelism", 1);
  fallback(spec, "backoffLimit", spec.backoffLimitPerIndex === undefined ? 6 : 2_147_483_647);
  fallback(spec, "completionMode", "NonIndexed");
  fallback(spec, "suspend", false);
  fallback(spec, "manualSelector", false);
  if (spec.podFailurePolicy === undefined) {
    fallback(spec, "podReplacementPolicy", "TerminatingOrFailed");
  } else fallback(spec, "podReplacementPolicy", "Failed");
  defaultTemplate(spec);
}

/** Writes the selector of a Job without manualSelector: the Job selects its pods by its UID. */
function generateJobSelector(job: Raw): void {
  const { uid, name } = job.metadata;
  const template = job.spec.template;
  template.metadata ??= {};
  template.metadata.labels ??= {};
  const { labels } = template.metadata;
  labels["batch.kubernetes.io/controller-uid"] = uid;
  labels["batch.kubernetes.io/job-name"] = name;
  labels["controller-uid"] = uid;
  labels["job-name"] = name;
  job.spec.selector ??= {};
  job.spec.selector.matchLabels ??= {};
  job.spec.selector.matchLabels["batch.kubernetes.io/controller-uid"] = uid;
}

function validateReplicas(replicas: number | undefined): FieldError[] {
  if (replicas === undefined || replicas >= 0) return [];
  return [invalid("spec.replicas", replicas, "must be greater than or equal to 0")];
}

function validateTemplate(spec: Raw, restartPolicies: readonly string[]): FieldError[] {
  const template = spec.template ?? {};
  const errors = validateLabels(template.metadata?.labels, "spec.template.labels");
  errors.push(...validatePodSpec(template.spec, "spec.template.spec"));
  const policy = template.spec?.restartPolicy;
  if (policy === "Always" && !restartPolicies.includes(policy)) {
    const valid = restartPolicies.map((word) => `"${word}"`).join(", ");
    errors.push(required("spec.template.spec.restartPolicy", `valid values: ${valid}`));
  } else if (policy !== undefined && !restartPolicies.includes(policy)) {
    errors.push(notSupported("spec.template.spec.restartPolicy", policy, restartPolicies));
  }
  return errors;
}

function validateSelectorKept(object: Raw, current: Raw | undefined): FieldError[] {
  if (current === undefined) return [];
  return validateImmutable(object.spec?.selector, current.spec?.selector, "spec.selector");
}

/** The part of a StatefulSet's spec that cannot change. */
function fixedPart(spec: Raw): Raw {
  const {
    replicas: _replicas,
    ordinals: _ordinals,
    template: _template,
    updateStrategy: _updateStrategy,
    revisionHistoryLimit: _history,
    persistentVolumeClaimRetentionPolicy: _retention,
    minReadySeconds: _minReady,
    ...fixed
  } = spec;
  return fixed;
}
