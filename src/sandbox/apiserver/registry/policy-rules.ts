/**
 * Validating admission policies and their bindings.
 * upstream: pkg/apis/admissionregistration/validation, v1/defaults.go
 */
import { isWord } from "../cel/engine.ts";
import { type PolicyNames, shownType, typeIn } from "../cel/policy-types.ts";
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
import { matchErrors } from "./policy-match-rules.ts";
import { validateSelector } from "./selector-rules.ts";

const ACTIONS = ["Audit", "Deny", "Warn"];
const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const MAX_CONDITIONS = 64;
const MAX_ANNOTATIONS = 20;
const MAX_ANNOTATION_BYTES = 5 * 1_024;

/** Defaults and validation of a ValidatingAdmissionPolicy. */
export const POLICY_RULES: KindRules = {
  defaults(policy) {
    policy.spec ??= {};
    fallback(policy.spec, "failurePolicy", "Fail");
    completeMatch(policy.spec.matchConstraints);
  },
  validate: ({ metadata, spec = {} }, current) => policyErrors(metadata.name, spec, current?.spec),
};

/** Defaults and validation of a ValidatingAdmissionPolicyBinding. */
export const POLICY_BINDING_RULES: KindRules = {
  defaults(binding) {
    binding.spec ??= {};
    completeMatch(binding.spec.matchResources);
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
  const params = paramKind !== undefined;
  const stored = JSON.stringify(before?.matchConditions ?? []);
  if (stored !== JSON.stringify(spec.matchConditions ?? []) || before === undefined)
    errors.push(...conditionErrors(spec.matchConditions ?? [], params));
  const declared = variableErrors(variables, params);
  errors.push(...declared.errors);
  const { names } = declared;
  const annotations = spec.auditAnnotations ?? [];
  if (validations.length === 0 && annotations.length === 0) {
    const text = "validations or auditAnnotations must contain at least one item";
    errors.push(required("spec.validations", text), required("spec.auditAnnotations", text));
  }
  (validations as readonly Raw[]).forEach((validation, index) => {
    errors.push(...validationErrors(validation, names, `spec.validations[${index}]`));
  });
  errors.push(...annotationErrors(name, annotations, names));
  return errors;
}

function paramKindErrors(paramKind: Raw, path: string): FieldError[] {
  if (paramKind === undefined) return [];
  const { apiVersion = "", kind = "" } = paramKind;
  const errors = apiVersionErrors(apiVersion, `${path}.apiVersion`);
  if (kind === "") return [...errors, required(`${path}.kind`)];
  const problems = nameProblems(kind.toLowerCase(), "oldLabel");
  if (problems.length === 0) return errors;
  const text = `may have mixed case, but should otherwise match: ${problems.join(",")}`;
  return [...errors, invalid(`${path}.kind`, kind, text)];
}

function apiVersionErrors(apiVersion: string, path: string): FieldError[] {
  if (apiVersion === "") return [required(path)];
  const parts = apiVersion === "/" ? ["", ""] : apiVersion.split("/");
  if (parts.length > 2)
    return [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const [group = "", version = ""] = parts.length === 1 ? ["", ...parts] : parts;
  const groupProblems = group === "" ? [] : nameProblems(group, "subdomain");
  const errors = groupProblems.length === 0 ? [] : [invalid(path, group, groupProblems.join(","))];
  if (version === "") return [...errors, invalid(path, apiVersion, "version must be specified")];
  const problems = nameProblems(version, "oldLabel");
  return problems.length === 0 ? errors : [...errors, invalid(path, version, problems.join(","))];
}

function conditionErrors(conditions: readonly Raw[], params: boolean): FieldError[] {
  const names: PolicyNames = { params, authorizer: true, variables: undefined };
  const path = "spec.matchConditions";
  const errors: FieldError[] = [];
  if (conditions.length > MAX_CONDITIONS)
    errors.push(tooMany(path, conditions.length, MAX_CONDITIONS));
  const seen = new Set<string>();
  conditions.forEach(({ expression = "", name = "" }, index) => {
    const at = `${path}[${index}]`;
    if (expression.trim() === "") errors.push(required(`${at}.expression`));
    else errors.push(...expressionErrors(expression.trim(), names, ["bool"], `${at}.expression`));
    if (name === "") errors.push(required(`${at}.name`));
    for (const text of name === "" ? [] : qualifiedNameProblems(name))
      errors.push(invalid(`${at}.name`, name, text));
    if (name !== "" && seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
  });
  return errors;
}

/** Checks the variables. The expression of each one may use the variables before it. */
function variableErrors(
  variables: readonly Raw[],
  params: boolean,
): { readonly errors: readonly FieldError[]; readonly names: PolicyNames } {
  const errors: FieldError[] = [];
  let names: PolicyNames = {
    params,
    authorizer: true,
    variables: variables.length === 0 ? undefined : {},
  };
  variables.forEach(({ expression = "", name = "" }, index) => {
    const at = `spec.variables[${index}]`;
    if (name.trim() === "") errors.push(required(`${at}.name`, "name is not specified"));
    else if (!isWord(name)) {
      errors.push(invalid(`${at}.name`, name, "must be a valid CEL identifier"));
    }
    if (expression.trim() === "") {
      errors.push(required(`${at}.expression`, "expression is not specified"));
      return;
    }
    errors.push(...expressionErrors(expression, names, [], `${at}.expression`));
    const found = typeIn(names, expression);
    if ("type" in found && isWord(name))
      names = { ...names, variables: { ...names.variables, [name]: found.type } };
  });
  return { errors, names };
}

function validationErrors(validation: Raw, names: PolicyNames, at: string): FieldError[] {
  const { expression = "", message, messageExpression, reason } = validation;
  const errors: FieldError[] = [];
  if (expression.trim() === "")
    errors.push(required(`${at}.expression`, "expression is not specified"));
  else errors.push(...expressionErrors(expression, names, ["bool"], `${at}.expression`));
  if (messageExpression !== undefined) {
    const field = `${at}.messageExpression`;
    if (messageExpression.trim() === "")
      errors.push(invalid(field, messageExpression, "must be non-empty if specified"));
    else
      errors.push(
        ...expressionErrors(messageExpression, { ...names, authorizer: false }, ["string"], field),
      );
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
  names: PolicyNames,
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
    else errors.push(...expressionErrors(expression, names, ["string", "null"], field));
    if (keys.has(key)) errors.push(duplicate(`${at}.key`, key));
    keys.add(key);
  });
  return errors;
}

/** Errors of a CEL expression. `types`: allowed types of the expression's value. Empty: any type. */
function expressionErrors(
  expression: string,
  names: PolicyNames,
  types: readonly string[],
  field: string,
): FieldError[] {
  const found = typeIn(names, expression);
  if ("problem" in found)
    return [invalid(field, expression, `compilation failed: ERROR: ${found.problem}`)];
  if (types.length === 0 || types.includes(found.type)) return [];
  const wanted = types.map(shownType);
  const text = wanted.length === 1 ? wanted[0] : `one of [${wanted.join(" ")}]`;
  const got = shownType(found.type);
  return [invalid(field, expression, `must evaluate to ${text} but got ${got}`)];
}

function paramRefErrors(paramRef: Raw, path: string): FieldError[] {
  if (paramRef === undefined) return [];
  const { name = "", selector, parameterNotFoundAction } = paramRef;
  const errors: FieldError[] = [];
  for (const problem of nameProblems(name, "path"))
    errors.push(invalid(`${path}.name`, name, problem));
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
