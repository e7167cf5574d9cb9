/** Validating admission policies and their bindings. upstream: pkg/apis/admissionregistration/validation, v1/defaults.go */
import { compileIn, missingVariable, type Scope } from "../cel/conditions.ts";
import {
  duplicate,
  forbidden,
  invalid,
  notSupported,
  required,
  tooMany,
} from "../schema/field-error.ts";
import { nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { validateSelector } from "./selector-rules.ts";

const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const ACTIONS = ["Audit", "Deny", "Warn"];
const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"];
const SCOPES = ["*", "Cluster", "Namespaced"];
const MAX_CONDITIONS = 64;
const MAX_ANNOTATIONS = 20;
const MAX_ANNOTATION_BYTES = 5 * 1_024;

export const POLICY_RULES: KindRules = {
  defaults(policy) {
    policy.spec ??= {};
    fallback(policy.spec, "failurePolicy", "Fail");
    completeMatch(policy.spec.matchConstraints);
  },
  validate: ({ metadata, spec = {} }, current) => policyErrors(metadata.name, spec, current?.spec),
};

export const POLICY_BINDING_RULES: KindRules = {
  defaults(binding) {
    binding.spec ??= {};
    completeMatch(binding.spec.matchResources);
    const { paramRef } = binding.spec;
    if (paramRef !== undefined) fallback(paramRef, "parameterNotFoundAction", "Deny");
  },
  validate: ({ spec = {} }) => [
    ...((spec.policyName ?? "") === ""
      ? [required("spec.policyName")]
      : nameProblems(spec.policyName, "subdomain").map((text) =>
          invalid("spec.policyName", spec.policyName, text),
        )),
    ...paramRefErrors(spec.paramRef, "spec.paramRef"),
    ...matchErrors(spec.matchResources, "spec.matchResources"),
    ...actionErrors(spec.validationActions ?? [], "spec.validationActions"),
  ],
};

function completeMatch(resources: Raw): void {
  if (resources === undefined) return;
  fallback(resources, "matchPolicy", "Equivalent");
  fallback(resources, "namespaceSelector", {});
  fallback(resources, "objectSelector", {});
  for (const rule of [
    ...(resources.resourceRules ?? []),
    ...(resources.excludeResourceRules ?? []),
  ])
    fallback(rule, "scope", "*");
}

function policyErrors(name: string, spec: Raw, before: Raw): FieldError[] {
  const errors: FieldError[] = [];
  const { failurePolicy, paramKind, matchConstraints, variables = [], validations = [] } = spec;
  if (!["Fail", "Ignore"].includes(failurePolicy))
    errors.push(notSupported("spec.failurePolicy", failurePolicy, ["Fail", "Ignore"]));
  errors.push(...paramKindErrors(paramKind, "spec.paramKind"));
  if (matchConstraints === undefined) errors.push(required("spec.matchConstraints"));
  else {
    errors.push(...matchErrors(matchConstraints, "spec.matchConstraints"));
    if ((matchConstraints.resourceRules ?? []).length === 0)
      errors.push(required("spec.matchConstraints.resourceRules"));
  }
  const scope: Scope = paramKind === undefined ? "policy" : "policyWithParams";
  const stored = JSON.stringify(before?.matchConditions ?? []);
  if (stored !== JSON.stringify(spec.matchConditions ?? []) || before === undefined)
    errors.push(...conditionErrors(spec.matchConditions ?? [], scope));
  errors.push(...variableErrors(variables, scope));
  const names = new Set((variables as readonly Raw[]).map((variable) => variable.name));
  const annotations = spec.auditAnnotations ?? [];
  if (validations.length === 0 && annotations.length === 0) {
    const text = "validations or auditAnnotations must contain at least one item";
    errors.push(required("spec.validations", text), required("spec.auditAnnotations", text));
  }
  (validations as readonly Raw[]).forEach((validation, index) => {
    errors.push(...validationErrors(validation, scope, names, `spec.validations[${index}]`));
  });
  errors.push(...annotationErrors(name, annotations, scope, names));
  return errors;
}

function paramKindErrors(paramKind: Raw, path: string): FieldError[] {
  if (paramKind === undefined) return [];
  const { apiVersion = "", kind = "" } = paramKind;
  const errors: FieldError[] = [];
  if (apiVersion === "") errors.push(required(`${path}.apiVersion`));
  else if (apiVersion.split("/").length > 2)
    errors.push(
      invalid(`${path}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`),
    );
  if (kind === "") errors.push(required(`${path}.kind`));
  return errors;
}

function matchErrors(resources: Raw, path: string): FieldError[] {
  if (resources === undefined) return [];
  const { matchPolicy, namespaceSelector, objectSelector } = resources;
  const errors: FieldError[] = [];
  if (!["Equivalent", "Exact"].includes(matchPolicy))
    errors.push(notSupported(`${path}.matchPolicy`, matchPolicy, ["Equivalent", "Exact"]));
  errors.push(...validateSelector(namespaceSelector, `${path}.namespaceSelector`));
  errors.push(...validateSelector(objectSelector, `${path}.objectSelector`));
  for (const list of ["resourceRules", "excludeResourceRules"])
    ((resources[list] ?? []) as readonly Raw[]).forEach((rule, index) => {
      errors.push(...ruleErrors(rule, `${path}.${list}[${index}]`));
    });
  return errors;
}

function ruleErrors(rule: Raw, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { operations = [], scope } = rule;
  if (operations.length === 0) errors.push(required(`${path}.operations`));
  (operations as readonly string[]).forEach((operation, index) => {
    if (!OPERATIONS.includes(operation))
      errors.push(notSupported(`${path}.operations[${index}]`, operation, OPERATIONS));
  });
  for (const [field, others] of [
    ["operations", "other operations"],
    ["apiGroups", "other API groups"],
    ["apiVersions", "other API versions"],
  ] as const) {
    const list: readonly string[] = rule[field] ?? [];
    if (field !== "operations" && list.length === 0) errors.push(required(`${path}.${field}`));
    if (list.length < 2 || !list.includes("*")) continue;
    errors.push(invalid(`${path}.${field}`, list, `if '*' is present, must not specify ${others}`));
  }
  if ((rule.resources ?? []).length === 0) errors.push(required(`${path}.resources`));
  if (scope !== undefined && !SCOPES.includes(scope))
    errors.push(notSupported(`${path}.scope`, scope, SCOPES));
  return errors;
}

function conditionErrors(conditions: readonly Raw[], scope: Scope): FieldError[] {
  const path = "spec.matchConditions";
  const errors: FieldError[] = [];
  if (conditions.length > MAX_CONDITIONS)
    errors.push(tooMany(path, conditions.length, MAX_CONDITIONS));
  const seen = new Set<string>();
  conditions.forEach(({ expression = "", name = "" }, index) => {
    const at = `${path}[${index}]`;
    if (expression.trim() === "") errors.push(required(`${at}.expression`));
    else errors.push(...expressionErrors(expression.trim(), scope, ["bool"], `${at}.expression`));
    if (name === "") errors.push(required(`${at}.name`));
    for (const text of name === "" ? [] : qualifiedNameProblems(name))
      errors.push(invalid(`${at}.name`, name, text));
    if (seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
  });
  return errors;
}

/** Each may name those before it. */
function variableErrors(variables: readonly Raw[], scope: Scope): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  variables.forEach(({ expression = "", name = "" }, index) => {
    const at = `spec.variables[${index}]`;
    if (name.trim() === "") errors.push(required(`${at}.name`, "name is not specified"));
    else if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      errors.push(invalid(`${at}.name`, name, "must be a valid CEL identifier"));
    if (expression.trim() === "")
      errors.push(required(`${at}.expression`, "expression is not specified"));
    else errors.push(...expressionErrors(expression, scope, [], `${at}.expression`, names));
    names.add(name);
  });
  return errors;
}

function validationErrors(
  validation: Raw,
  scope: Scope,
  names: ReadonlySet<string>,
  at: string,
): FieldError[] {
  const { expression = "", message, messageExpression, reason } = validation;
  const errors: FieldError[] = [];
  if (expression.trim() === "")
    errors.push(required(`${at}.expression`, "expression is not specified"));
  else errors.push(...expressionErrors(expression, scope, ["bool"], `${at}.expression`, names));
  if (messageExpression !== undefined) {
    const field = `${at}.messageExpression`;
    if (messageExpression.trim() === "")
      errors.push(invalid(field, messageExpression, "must be non-empty if specified"));
    else errors.push(...expressionErrors(messageExpression, scope, ["string"], field, names));
  }
  if (message !== undefined) {
    if (message.trim() === "")
      errors.push(invalid(`${at}.message`, message, "must be non-empty if specified"));
    else if (/[\n\r]/.test(message.trim()))
      errors.push(invalid(`${at}.message`, message, "must not contain line breaks"));
  }
  if (reason !== undefined && !REASONS.includes(reason))
    errors.push(notSupported(`${at}.reason`, reason, REASONS));
  return errors;
}

function annotationErrors(
  policy: string,
  annotations: readonly Raw[],
  scope: Scope,
  names: ReadonlySet<string>,
): FieldError[] {
  const path = "spec.auditAnnotations";
  const errors: FieldError[] = [];
  if (annotations.length > MAX_ANNOTATIONS)
    errors.push(
      invalid(path, annotations, `must not have more than ${MAX_ANNOTATIONS} auditAnnotations`),
    );
  const keys = new Set<string>();
  annotations.forEach(({ key = "", valueExpression = "" }, index) => {
    const at = `${path}[${index}]`;
    for (const text of qualifiedNameProblems(`${policy}/${key}`))
      errors.push(invalid(`${at}.key`, `${policy}/${key}`, text));
    const field = `${at}.valueExpression`;
    const expression = valueExpression.trim();
    if (expression === "") errors.push(required(field, "valueExpression is not specified"));
    else if (expression.length > MAX_ANNOTATION_BYTES)
      errors.push(required(field, `must not exceed ${MAX_ANNOTATION_BYTES} bytes in length`));
    else errors.push(...expressionErrors(expression, scope, ["string", "null"], field, names));
    if (keys.has(key)) errors.push(duplicate(`${at}.key`, key));
    keys.add(key);
  });
  return errors;
}

const NO_NAMES: ReadonlySet<string> = new Set();

/** `types`: what the expression may give; empty: anything. */
function expressionErrors(
  expression: string,
  scope: Scope,
  types: readonly string[],
  field: string,
  names = NO_NAMES,
): FieldError[] {
  const program = compileIn(scope, expression);
  if (typeof program === "string")
    return [invalid(field, expression, `compilation failed: ERROR: ${program}`)];
  const missing = missingVariable(program, names);
  if (missing !== undefined)
    return [invalid(field, expression, `compilation failed: ERROR: undefined field '${missing}'`)];
  const { type = "dyn" } = program.check();
  if (types.length === 0 || type === "dyn" || types.includes(type)) return [];
  const wanted = types.map((one) => (one === "null" ? "null_type" : one));
  const text = wanted.length === 1 ? wanted[0] : `one of [${wanted.join(" ")}]`;
  return [invalid(field, expression, `must evaluate to ${text}`)];
}

function paramRefErrors(paramRef: Raw, path: string): FieldError[] {
  if (paramRef === undefined) return [];
  const { name = "", selector, parameterNotFoundAction } = paramRef;
  const errors: FieldError[] = [];
  const text = "name and selector are mutually exclusive";
  if (name !== "" && selector !== undefined) errors.push(forbidden(`${path}.name`, text));
  if (selector !== undefined) {
    errors.push(...validateSelector(selector, `${path}.selector`));
    if (name !== "") errors.push(forbidden(`${path}.selector`, text));
  }
  if (name === "" && selector === undefined)
    errors.push(required(path, "one of name or selector must be specified"));
  const field = `${path}.parameterNotFoundAction`;
  if ((parameterNotFoundAction ?? "") === "") errors.push(required(field));
  else if (!["Allow", "Deny"].includes(parameterNotFoundAction))
    errors.push(notSupported(field, parameterNotFoundAction, ["Deny", "Allow"]));
  return errors;
}

function actionErrors(actions: readonly string[], path: string): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  actions.forEach((action, index) => {
    if (!ACTIONS.includes(action)) errors.push(notSupported(`${path}[${index}]`, action, ACTIONS));
    if (seen.has(action)) errors.push(duplicate(`${path}[${index}]`, action));
    seen.add(action);
  });
  if (seen.has("Deny") && seen.has("Warn")) {
    const text =
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
    errors.push(invalid(path, actions, text));
  }
  if (seen.size === 0) errors.push(required(path, "at least one validation action is required"));
  return errors;
}
