/**
 * Validation of ResourceQuotas: which resources a quota may limit, the amounts, and the scopes.
 * upstream: pkg/apis/core/validation ValidateResourceQuota, pkg/apis/core/helper/helpers.go
 */

import { canonicalQuantity } from "../../../base/canonical-quantity.ts";
import { parseNano } from "../../../base/quantity.ts";
import { COMPUTE, PLAINLY_COUNTED } from "../quota/usage.ts";
import { invalid, required } from "../schema/field-error.ts";
import type { FieldError } from "../schema/schema.ts";
import type { KindRules, Raw } from "./kind-rules.ts";
import { isStandardResource } from "./resource-names.ts";
import { validateImmutable } from "./selector-rules.ts";

/** Resources that are counts, so their limit must be a whole number. */
const WHOLE: ReadonlySet<string> = new Set([
  ...PLAINLY_COUNTED,
  "services.loadbalancers",
  "services.nodeports",
]);
const SCOPES: ReadonlySet<string> = new Set([
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "PriorityClass",
  "CrossNamespacePodAffinity",
  "VolumeAttributesClass",
]);
/** Scopes that allow only the operator Exists. */
const PLAIN_SCOPES: ReadonlySet<string> = new Set([
  "Terminating",
  "NotTerminating",
  "BestEffort",
  "NotBestEffort",
  "CrossNamespacePodAffinity",
]);
const CONTRADICTIONS: readonly (readonly [string, string])[] = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];
const ONLY_EXISTS =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, " +
  "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

/** Validation of a ResourceQuota. */
export const QUOTA_RULES: KindRules = {
  validate(quota, current) {
    const { hard = {}, scopes = [], scopeSelector } = quota.spec ?? {};
    const resources = Object.keys(hard).sort();
    const errors = [
      ...resources.flatMap((resource) => validateHard(resource, hard[resource])),
      ...validateScopes(scopes, resources),
      ...validateSelector(scopeSelector?.matchExpressions ?? []),
    ];
    if (current === undefined) return errors;
    const before = current.spec?.scopes ?? [];
    const same = before.toSorted().join() === scopes.toSorted().join();
    return same ? errors : [...errors, ...validateImmutable(scopes, before, "spec.scopes")];
  },
};

function validateHard(resource: string, amount: Raw): FieldError[] {
  const field = `spec.hard[${resource}]`;
  const errors: FieldError[] = [];
  if (!resource.includes("/") && !isStandardResource(resource)) {
    errors.push(invalid(field, resource, "must be a standard resource type or fully qualified"));
    errors.push(invalid(field, resource, "must be a standard resource for quota"));
  }
  const nano = parseNano(amount) ?? 0n;
  const shown = canonicalQuantity(amount) ?? amount;
  if (nano < 0n) errors.push(invalid(field, shown, "must be greater than or equal to 0"));
  if (WHOLE.has(resource) && nano % 1_000_000_000n !== 0n)
    errors.push(invalid(field, shown, "must be an integer"));
  return errors;
}

function validateScopes(scopes: readonly string[], resources: readonly string[]): FieldError[] {
  const field = "spec.scopes";
  const problems = scopes.flatMap((scope) => [
    ...(SCOPES.has(scope) ? [] : ["unsupported scope"]),
    ...resources
      .filter((resource) => !isInScope(scope, resource))
      .map(() => "unsupported scope applied to resource"),
  ]);
  for (const [one, other] of CONTRADICTIONS)
    if (scopes.includes(one) && scopes.includes(other)) problems.push("conflicting scopes");
  return problems.map((text) => invalid(field, scopes, text));
}

function isInScope(scope: string, resource: string): boolean {
  if (!SCOPES.has(scope) || !isStandardResource(resource)) return true;
  if (scope === "VolumeAttributesClass")
    return resource === "persistentvolumeclaims" || resource === "requests.storage";
  return resource === "pods" || (scope !== "BestEffort" && COMPUTE.has(resource));
}

function validateSelector(expressions: readonly Raw[]): FieldError[] {
  const field = "spec.scopeSelector.matchExpressions";
  return expressions.flatMap(({ scopeName, operator, values = [] }) => {
    const errors: FieldError[] = [];
    if (PLAIN_SCOPES.has(scopeName) && operator !== "Exists")
      errors.push(invalid(`${field}.operator`, operator, ONLY_EXISTS));
    if ((operator === "In" || operator === "NotIn") && values.length === 0)
      errors.push(
        required(
          `${field}.values`,
          "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        ),
      );
    if ((operator === "Exists" || operator === "DoesNotExist") && values.length > 0)
      errors.push(
        invalid(
          `${field}.values`,
          values,
          "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
        ),
      );
    return errors;
  });
}
