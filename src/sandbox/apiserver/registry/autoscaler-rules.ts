/**
 * Defaults and validation of HorizontalPodAutoscalers, in both versions.
 * upstream: pkg/apis/autoscaling/{v1,v2}/defaults.go, pkg/apis/autoscaling/validation
 */
import { parseNano } from "../../../base/quantity.ts";
import { forbidden, invalid, notSupported, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { resourceNameProblems } from "./resource-names.ts";

const SELECT_POLICIES = ["Disabled", "Max", "Min"];
const POLICY_TYPES = ["Percent", "Pods"];
/** The field of each metric type. */
const SOURCES: Readonly<Record<string, string>> = {
  ContainerResource: "containerResource",
  External: "external",
  Object: "object",
  Pods: "pods",
  Resource: "resource",
};
const MOST_STABILIZATION_SECONDS = 3_600;
const MOST_PERIOD_SECONDS = 1_800;

/** Defaults and validation of a HorizontalPodAutoscaler of autoscaling/v1, and its first status. */
export const OLDER_AUTOSCALER_RULES: KindRules = {
  defaults({ metadata, spec = {} }) {
    fallback(spec, "minReplicas", 1);
    if (metadata?.annotations?.["autoscaling.alpha.kubernetes.io/metrics"] === undefined)
      fallback(spec, "targetCPUUtilizationPercentage", 80);
  },
  prepareCreate(autoscaler) {
    autoscaler.status = { currentReplicas: 0, desiredReplicas: 0 };
  },
  validate: ({ spec = {} }) => {
    const averageUtilization = spec.targetCPUUtilizationPercentage;
    const target = { type: "Utilization", averageUtilization };
    const metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
    return validateScaling(averageUtilization === undefined ? spec : { ...spec, metrics });
  },
};

/** Defaults and validation of a HorizontalPodAutoscaler of autoscaling/v2, and its first status. */
export const AUTOSCALER_RULES: KindRules = {
  defaults({ spec = {}, status }) {
    if (status !== undefined) {
      fallback(status, "desiredReplicas", 0);
      fallback(status, "currentMetrics", null);
    }
    fallback(spec, "minReplicas", 1);
    const target = { type: "Utilization", averageUtilization: 80 };
    fallback(spec, "metrics", [{ type: "Resource", resource: { name: "cpu", target } }]);
    if (spec.behavior === undefined) return;
    const allAtOnce = { type: "Percent", value: 100, periodSeconds: 15 };
    spec.behavior.scaleUp = {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [{ type: "Pods", value: 4, periodSeconds: 15 }, allAtOnce],
      ...spec.behavior.scaleUp,
    };
    spec.behavior.scaleDown = {
      selectPolicy: "Max",
      policies: [allAtOnce],
      ...spec.behavior.scaleDown,
    };
  },
  prepareCreate(autoscaler) {
    autoscaler.status = { desiredReplicas: 0, currentMetrics: null };
  },
  validate: ({ spec = {} }) => validateScaling(spec),
};

function validateScaling(spec: Raw): FieldError[] {
  const errors: FieldError[] = [];
  const { minReplicas = 1, maxReplicas = 0, scaleTargetRef = {}, behavior = {} } = spec;
  const metrics: readonly Raw[] = spec.metrics ?? [];
  if (minReplicas < 1) {
    errors.push(invalid("spec.minReplicas", minReplicas, "must be greater than or equal to 1"));
  }
  if (maxReplicas < 1)
    errors.push(invalid("spec.maxReplicas", maxReplicas, "must be greater than 0"));
  if (maxReplicas < minReplicas) {
    const text = "must be greater than or equal to `minReplicas`";
    errors.push(invalid("spec.maxReplicas", maxReplicas, text));
  }
  errors.push(...referenceErrors(scaleTargetRef, "spec.scaleTargetRef"));
  metrics.forEach((metric, index) => {
    errors.push(...metricErrors(metric, `spec.metrics[${index}]`));
  });
  if (minReplicas === 0 && !metrics.some(({ type }) => type === "Object" || type === "External")) {
    const text =
      "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.push(forbidden("spec.metrics", text));
  }
  for (const direction of ["scaleUp", "scaleDown"])
    errors.push(...behaviorErrors(behavior[direction], `spec.behavior.${direction}`));
  return errors;
}

function referenceErrors(reference: Raw, path: string, needsGroup = true): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["kind", "name"]) {
    const value = reference[field] ?? "";
    if (value === "") errors.push(required(`${path}.${field}`));
    else
      for (const text of nameProblems(value, "path"))
        errors.push(invalid(`${path}.${field}`, value, text));
  }
  const apiVersion = reference.apiVersion ?? "";
  const at = `${path}.apiVersion`;
  const parts = apiVersion.split("/");
  if (parts.length > 2)
    errors.push(invalid(at, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  else if (needsGroup && (parts.length === 1 || parts[0] === ""))
    errors.push(invalid(at, apiVersion, "apiVersion must specify API group"));
  return errors;
}

function metricErrors(metric: Raw, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { type = "" } = metric;
  const types = Object.keys(SOURCES);
  if (type === "") errors.push(required(`${path}.type`, "must specify a metric source type"));
  if (SOURCES[type] === undefined) errors.push(notSupported(`${path}.type`, type, types));
  const present = ["object", "external", "pods", "resource", "containerResource"].filter(
    (field) => metric[field] !== undefined,
  );
  const [first] = present;
  if (first !== undefined) errors.push(...sourceErrors(first, metric[first], `${path}.${first}`));
  const expected = SOURCES[type];
  if (expected === undefined) errors.push(notSupported(`${path}.type`, type, types));
  else if (metric[expected] === undefined) {
    const text = "must populate information for the given metric source";
    errors.push(required(`${path}.${expected}`, text));
  }
  if (present.length === 1) return errors;
  for (const field of present.filter((one) => one !== expected))
    errors.push(forbidden(`${path}.${field}`, "must populate the given metric source only"));
  return errors;
}

function sourceErrors(field: string, source: Raw, path: string): FieldError[] {
  const { target = {}, metric = {}, name = "" } = source;
  const errors: FieldError[] = [];
  const isResource = field === "resource" || field === "containerResource";
  if (field === "object")
    errors.push(...referenceErrors(source.describedObject ?? {}, `${path}.describedObject`, false));
  if (isResource) errors.push(...resourceErrors(field, name, source.container ?? "", path));
  else if ((metric.name ?? "") === "")
    errors.push(required(`${path}.metric.name`, "must specify a metric name"));
  else
    for (const text of nameProblems(metric.name, "path"))
      errors.push(invalid(`${path}.metric.name`, metric.name, text));
  return [
    ...errors,
    ...targetErrors(target, `${path}.target`),
    ...choiceErrors(field, target, `${path}.target`),
  ];
}

function resourceErrors(
  field: string,
  name: string,
  container: string,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(`${path}.name`, "must specify a resource name"));
  if (field === "resource") return errors;
  for (const text of name === "" ? [] : resourceNameProblems(name))
    errors.push(invalid(`${path}.name`, name, text));
  if (container === "") errors.push(required(`${path}.container`, "must specify a container"));
  else
    for (const text of nameProblems(container, "label"))
      errors.push(invalid(`${path}.container`, container, text));
  return errors;
}

function targetErrors(target: Raw, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { type = "", averageUtilization } = target;
  if (type === "") errors.push(required(`${path}.type`, "must specify a metric target type"));
  if (!["AverageValue", "Utilization", "Value"].includes(type)) {
    const text = "must be either Utilization, Value, or AverageValue";
    errors.push(invalid(`${path}.type`, type, text));
  }
  for (const field of ["value", "averageValue"]) {
    const amount = target[field];
    if (amount !== undefined && (parseNano(amount) ?? 0n) <= 0n)
      errors.push(invalid(`${path}.${field}`, amount, "must be positive"));
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    const field = `${path}.averageUtilization`;
    errors.push(invalid(field, averageUtilization, "must be greater than 0"));
  }
  return errors;
}

/**
 * Errors of a metric target. Which of its fields are required, or exclude each other, depends on the metric's
 * source.
 */
function choiceErrors(field: string, target: Raw, path: string): FieldError[] {
  const has = (name: string): boolean => target[name] !== undefined;
  const isSet = has("averageValue");
  if (field === "pods" && !isSet)
    return [required(`${path}.averageValue`, "must specify a positive target averageValue")];
  if (field === "pods") return [];
  if (field === "object" || field === "external") {
    const isObject = field === "object";
    if (!isSet && !has("value")) {
      const text = isObject
        ? "must set either a target value or averageValue"
        : "must set either a target value for metric or a per-pod target";
      return [required(`${path}.averageValue`, text)];
    }
    const text = "may not set both a target value for metric and a per-pod target";
    return !isObject && isSet && has("value") ? [forbidden(`${path}.value`, text)] : [];
  }
  if (!isSet && !has("averageUtilization")) {
    const text = "must set either a target raw value or a target utilization";
    return [required(`${path}.averageUtilization`, text)];
  }
  const text = "may not set both a target raw value and a target utilization";
  return isSet && has("averageUtilization") ? [forbidden(`${path}.averageValue`, text)] : [];
}

function behaviorErrors(rules: Raw, path: string): FieldError[] {
  if (rules === undefined) return [];
  const errors: FieldError[] = [];
  const { stabilizationWindowSeconds: seconds, selectPolicy, policies = [] } = rules;
  const window = `${path}.stabilizationWindowSeconds`;
  if (seconds < 0) errors.push(invalid(window, seconds, "must be greater than or equal to zero"));
  if (seconds > MOST_STABILIZATION_SECONDS) {
    const text = `must be less than or equal to ${MOST_STABILIZATION_SECONDS}`;
    errors.push(invalid(window, seconds, text));
  }
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(selectPolicy))
    errors.push(notSupported(`${path}.selectPolicy`, selectPolicy, SELECT_POLICIES));
  if (policies.length === 0)
    errors.push(required(`${path}.policies`, "must specify at least one Policy"));
  (policies as readonly Raw[]).forEach(({ type = "", value = 0, periodSeconds = 0 }, index) => {
    const at = `${path}.policies[${index}]`;
    if (!POLICY_TYPES.includes(type)) errors.push(notSupported(`${at}.type`, type, POLICY_TYPES));
    if (value <= 0) errors.push(invalid(`${at}.value`, value, "must be greater than zero"));
    const period = `${at}.periodSeconds`;
    if (periodSeconds <= 0)
      errors.push(invalid(period, periodSeconds, "must be greater than zero"));
    if (periodSeconds > MOST_PERIOD_SECONDS) {
      const text = `must be less than or equal to ${MOST_PERIOD_SECONDS}`;
      errors.push(invalid(period, periodSeconds, text));
    }
  });
  return errors;
}
