/**
 * Rules of LimitRanges. Missing defaults of a container follow from its other bounds. Contradicting bounds
 * are refused.
 * upstream: pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem, pkg/apis/core/validation
 * ValidateLimitRange
 */
import { parseNano } from "../../../base/quantity.ts";
import { duplicate, forbidden, invalid, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import type { KindRules, Raw } from "./kind-rules.ts";

/** Defaults and validation of a LimitRange. */
export const LIMIT_RANGE_RULES: KindRules = {
  defaults(range) {
    for (const item of range.spec?.limits ?? []) if (item.type === "Container") complete(item);
  },
  validate(range) {
    const seen = new Set<string>();
    return (range.spec?.limits ?? []).flatMap((item: Raw, index: number) => {
      const path = `spec.limits[${index}]`;
      const again = seen.has(item.type) ? [duplicate(`${path}.type`, item.type)] : [];
      seen.add(item.type);
      return [...again, ...validateItem(item, path)];
    });
  },
};

function complete(item: Raw): void {
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

function validateItem(item: Raw, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (item.type === "Pod")
    for (const field of ["default", "defaultRequest"])
      if (Object.keys(item[field] ?? {}).length > 0)
        errors.push(forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'"));
  const isClaim = item.type === "PersistentVolumeClaim";
  if (isClaim && item.min?.storage === undefined && item.max?.storage === undefined)
    errors.push(
      required(
        `${path}.limits`,
        "either minimum or maximum storage value is required, but neither was provided",
      ),
    );
  const parts = item.type === "Pod" ? [item.min, item.max] : Object.values(item).filter(isAmounts);
  const resources = new Set(parts.flatMap((part) => Object.keys(part ?? {})));
  for (const resource of [...resources, ...Object.keys(item.maxLimitRequestRatio ?? {})].sort())
    errors.push(...validateResource(item, resource, path));
  return errors;
}

function isAmounts(value: unknown): value is Raw {
  return typeof value === "object" && value !== null;
}

function validateResource(item: Raw, resource: string, path: string): readonly FieldError[] {
  const hasDefaults = item.type !== "Pod";
  const min = item.min?.[resource];
  const max = item.max?.[resource];
  const limit = hasDefaults ? item.default?.[resource] : undefined;
  const request = hasDefaults ? item.defaultRequest?.[resource] : undefined;
  const rules: readonly [string, unknown, unknown, unknown, string][] = [
    ["min", min, min, max, "min value # is greater than max value #"],
    [
      "defaultRequest",
      request,
      min,
      request,
      "min value # is greater than default request value #",
    ],
    [
      "defaultRequest",
      request,
      request,
      max,
      "default request value # is greater than max value #",
    ],
    [
      "defaultRequest",
      request,
      request,
      limit,
      "default request value # is greater than default limit value #",
    ],
    ["default", min, min, limit, "min value # is greater than default value #"],
    ["default", max, limit, max, "default value # is greater than max value #"],
  ];
  return rules.flatMap(([field, shown, low, high, text]) => {
    if (low === undefined || high === undefined || nano(low) <= nano(high)) return [];
    const detail = text.replace("#", String(low)).replace("#", String(high));
    return [invalid(`${path}.${field}[${resource}]`, shown, detail)];
  });
}

function nano(amount: unknown): bigint {
  return parseNano(amount as string) ?? 0n;
}
