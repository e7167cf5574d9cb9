/**
 * Label selectors of workloads and budgets: they must be valid, cannot change, and must match the workload's
 * own pods.
 * upstream: apimachinery pkg/apis/meta/v1/validation, pkg/apis/apps/validation
 */
import { deepEqual } from "../../../base/json.ts";
import { forbidden, invalid, required } from "../schema/field-error.ts";
import { labelValueProblems, qualifiedNameProblems, validateLabels } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";

/** Errors of a LabelSelector. */
export function validateSelector(selector: Raw, path: string): FieldError[] {
  const errors = validateLabels(selector?.matchLabels, `${path}.matchLabels`);
  (selector?.matchExpressions ?? []).forEach((expression: Raw, index: number) => {
    const at = `${path}.matchExpressions[${index}]`;
    const { key = "", operator, values = [] } = expression;
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0) {
        const text = "must be specified when `operator` is 'In' or 'NotIn'";
        errors.push(required(`${at}.values`, text));
      }
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0) {
        const text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        errors.push(forbidden(`${at}.values`, text));
      }
    } else {
      errors.push(invalid(`${at}.operator`, operator ?? "", "not a valid selector operator"));
    }
    for (const text of qualifiedNameProblems(key)) errors.push(invalid(`${at}.key`, key, text));
    values.forEach((value: string, place: number) => {
      for (const text of labelValueProblems(value)) {
        errors.push(invalid(`${at}.values[${place}]`, value, text));
      }
    });
  });
  return errors;
}

/** Errors of a workload's selector: it must be set, not empty, and match the template's labels. */
export function validateWorkloadSelector(spec: Raw, kind: string): FieldError[] {
  const { selector } = spec;
  if (selector === undefined) {
    const labels = spec.template?.metadata?.labels ?? {};
    const text = "`selector` does not match template `labels`";
    const mismatch = invalid("spec.template.metadata.labels", labels, text);
    // Upstream reports the mismatch with a missing selector only for Deployments.
    return [required("spec.selector"), ...(kind === "deployment" ? [mismatch] : [])];
  }
  const errors = validateSelector(selector, "spec.selector");
  if (isEmptySelector(selector)) {
    errors.push(invalid("spec.selector", selector, `empty selector is invalid for ${kind}`));
  } else if (errors.length === 0) {
    const labels = spec.template?.metadata?.labels ?? {};
    if (!matchesSelector(selector, labels)) {
      const text = "`selector` does not match template `labels`";
      errors.push(invalid("spec.template.metadata.labels", labels, text));
    }
  }
  return errors;
}

/** An error if a field that cannot change was changed. */
export function validateImmutable(next: unknown, current: unknown, path: string): FieldError[] {
  return deepEqual(next, current) ? [] : [invalid(path, next, "field is immutable")];
}

function isEmptySelector(selector: Raw): boolean {
  return (
    Object.keys(selector.matchLabels ?? {}).length === 0 &&
    (selector.matchExpressions ?? []).length === 0
  );
}

function matchesSelector(selector: Raw, labels: Readonly<Record<string, string>>): boolean {
  const byLabels = Object.entries(selector.matchLabels ?? {}).every(
    ([key, v]) => labels[key] === v,
  );
  return (
    byLabels &&
    (selector.matchExpressions ?? []).every((expression: Raw) => {
      const value = labels[expression.key];
      switch (expression.operator) {
        case "In":
          return value !== undefined && expression.values.includes(value);
        case "NotIn":
          return value === undefined || !expression.values.includes(value);
        case "Exists":
          return value !== undefined;
        default:
          return value === undefined;
      }
    })
  );
}
