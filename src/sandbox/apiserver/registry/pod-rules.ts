/**
 * Rules of Pods: defaults, the first status with the QoS class, and which fields an update may change.
 * upstream: pkg/registry/core/pod/strategy.go, pkg/apis/core/validation ValidatePodUpdate
 */
import { clone, deepEqual } from "../../../base/json.ts";
import { parseNano } from "../../../base/quantity.ts";
import { forbidden } from "../schema/field-error.ts";
import { validateLabels } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, nullTimes, type Raw } from "./kind-rules.ts";
import { allContainers, defaultPodSpec, requestLimits } from "./pod-spec.ts";
import { validatePodSpec } from "./pod-spec-validation.ts";
import { defaultWholePod, validateWholePod } from "./pod-whole-resources.ts";

const IMMUTABLE_TEXT =
  "pod updates may not change fields other than `spec.containers[*].image`," +
  "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to " +
  "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was " +
  "previously negative)";

/** Defaults and validation of a Pod, and its first status. */
export const POD_RULES: KindRules = {
  defaults(pod) {
    pod.spec ??= {};
    defaultPodSpec(pod.spec);
    fallback(pod.spec, "enableServiceLinks", true);
    requestLimits(pod.spec);
    defaultWholePod(pod.spec);
    defaultHostPorts(pod.spec);
    nullTimes(pod.status?.conditions, ["lastProbeTime", "lastTransitionTime"]);
  },
  prepareCreate(pod) {
    pod.status = { phase: "Pending", qosClass: qosClass(pod.spec) };
    if ((pod.spec.schedulingGates ?? []).length > 0) {
      pod.status.conditions = [
        {
          type: "PodScheduled",
          status: "False",
          reason: "SchedulingGated",
          message: "Scheduling is blocked due to non-empty scheduling gates",
          lastProbeTime: null,
          lastTransitionTime: pod.metadata.creationTimestamp,
        },
      ];
    }
  },
  prepareStatus(pod, { status: before = {} }) {
    pod.status ??= {};
    if (before.qosClass !== undefined) fallback(pod.status, "qosClass", before.qosClass);
  },
  validate: (pod, current) =>
    current === undefined ? validateNew(pod) : validateUpdate(pod, current),
};

/** Defaults and validation of a PodTemplate. No controller uses this kind. */
export const POD_TEMPLATE_RULES: KindRules = {
  defaults(object) {
    object.template ??= {};
    object.template.spec ??= {};
    defaultPodSpec(object.template.spec);
  },
  validate: ({ template = {} }) => [
    ...validateLabels(template.metadata?.labels, "template.labels"),
    ...validatePodSpec(template.spec, "template.spec"),
  ],
};

/** The QoS class: `Guaranteed`, `Burstable` or `BestEffort`. upstream: pkg/apis/core/v1/helper/qos */
export function qosClass(spec: Raw): string {
  // Pod-level resources replace those of the containers.
  const containers =
    spec.resources === undefined
      ? [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
      : [spec];
  let hasAny = false;
  let isGuaranteed = true;
  for (const container of containers) {
    const { requests = {}, limits = {} } = container.resources ?? {};
    for (const name of ["cpu", "memory"]) {
      const asked = parseNano(requests[name] ?? "0") ?? 0n;
      const limit = parseNano(limits[name] ?? "0") ?? 0n;
      hasAny ||= asked > 0n || limit > 0n;
      if (limit === 0n || (requests[name] !== undefined && asked !== limit)) isGuaranteed = false;
    }
  }
  if (!hasAny) return "BestEffort";
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

function defaultHostPorts(spec: Raw): void {
  if (spec.hostNetwork !== true) return;
  for (const container of allContainers(spec)) {
    for (const port of container.ports ?? []) fallback(port, "hostPort", port.containerPort);
  }
}

function validateNew({ spec }: Raw): FieldError[] {
  const errors = [...validatePodSpec(spec, "spec"), ...validateWholePod(spec)];
  if ((spec.ephemeralContainers ?? []).length > 0)
    errors.push(forbidden("spec.ephemeralContainers", "cannot be set on create"));
  return errors;
}

function validateUpdate(pod: Raw, current: Raw): FieldError[] {
  if (deepEqual(pod.spec, current.spec)) return [];
  const errors: FieldError[] = [];
  const gates: Raw[] = pod.spec.schedulingGates ?? [];
  const gatesBefore: Raw[] = current.spec.schedulingGates ?? [];
  const added = gates.filter((gate) => !gatesBefore.some((before) => before.name === gate.name));
  if (added.length > 0) {
    const text = `only deletion is allowed, but found new scheduling gate '${added[0].name}'`;
    errors.push(forbidden("spec.schedulingGates", text));
  }
  if (!deepEqual(withoutMutable(pod, current), current.spec)) {
    errors.push(forbidden("spec", IMMUTABLE_TEXT));
  }
  return errors;
}

/**
 * The new spec with all mutable fields set back to their old values. If it then differs from the old spec, an
 * immutable field was changed.
 */
function withoutMutable(pod: Raw, current: Raw): Raw {
  const spec = clone(pod.spec);
  const before = current.spec;
  for (const list of ["containers", "initContainers"]) {
    (spec[list] ?? []).forEach((container: Raw, index: number) => {
      const old = before[list]?.[index];
      if (old !== undefined && container.image) container.image = old.image;
    });
  }
  restore(spec, before, "activeDeadlineSeconds");
  if (before.terminationGracePeriodSeconds < 0 && spec.terminationGracePeriodSeconds === 1) {
    spec.terminationGracePeriodSeconds = before.terminationGracePeriodSeconds;
  }
  const kept = (before.tolerations ?? []).every((old: Raw) =>
    (spec.tolerations ?? []).some((now: Raw) => isSameToleration(old, now)),
  );
  if (kept) restore(spec, before, "tolerations");
  restore(spec, before, "schedulingGates");
  // Before a gated pod is scheduled, its node selector and affinity may still change.
  if ((before.schedulingGates ?? []).length > 0) {
    restore(spec, before, "nodeSelector");
    restore(spec, before, "affinity");
  }
  return spec;
}

function isSameToleration(old: Raw, now: Raw): boolean {
  const { tolerationSeconds: _old, ...left } = old;
  const { tolerationSeconds: _now, ...right } = now;
  return deepEqual(left, right);
}

function restore(spec: Raw, before: Raw, field: string): void {
  if (before[field] === undefined) delete spec[field];
  else spec[field] = before[field];
}
