/**
 * Validating admission policies. A policy says in CEL expressions what a write must satisfy. Its bindings say
 * where it applies, with which parameters, and whether a violation denies, warns or is only audited.
 * upstream: apiserver pkg/admission/plugin/policy/validating, pkg/admission/plugin/policy/generic
 */

import { matchesLabelSelector } from "../../../apis/core/selectors.ts";
import type { KubeObject, LabelSelector } from "../../../apis/meta.ts";
import { fieldOf } from "../../../base/json.ts";
import { compareText } from "../../../base/text-order.ts";
import {
  type Bindings,
  bindingsOf,
  evaluateIn,
  type Scope,
  type Variable,
  withVariables,
} from "../cel/conditions.ts";
import { type Budget, CONDITIONS_BUDGET, OBJECT_BUDGET, OUT_OF_BUDGET } from "../cel/meter.ts";
import type { Call } from "../engine.ts";
import { ApiError, forbidden } from "../request/status.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Admission } from "./admission-request.ts";
import { admissionReview } from "./admission-review.ts";
import { authorizerOf } from "./authorizer-of.ts";
import { asWanted, type Rule, type Selectors, selectsObject, wantedVersion } from "./matching.ts";

interface MatchResources extends Selectors {
  readonly resourceRules?: readonly Rule[];
  readonly excludeResourceRules?: readonly Rule[];
  readonly matchPolicy?: "Exact" | "Equivalent";
}

interface Validation {
  readonly expression: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
}

interface Policy extends KubeObject {
  readonly spec: {
    readonly failurePolicy?: "Fail" | "Ignore";
    readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
    readonly matchConstraints?: MatchResources;
    readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
    readonly variables?: readonly Variable[];
    readonly validations?: readonly Validation[];
    readonly auditAnnotations?: readonly {
      readonly key: string;
      readonly valueExpression: string;
    }[];
  };
}

interface Binding extends KubeObject {
  readonly spec: {
    readonly policyName: string;
    readonly paramRef?: {
      readonly name?: string;
      readonly namespace?: string;
      readonly selector?: LabelSelector;
      readonly parameterNotFoundAction?: "Allow" | "Deny";
    };
    readonly matchResources?: MatchResources;
    readonly validationActions?: readonly ("Deny" | "Warn" | "Audit")[];
  };
}

/** A violation of a policy by a write. */
interface Denial {
  readonly message: string;
  /** The reason of the violation. Absent if an expression of the policy failed to evaluate. */
  readonly reason?: string;
}

/** A violation that stops the write. */
interface Refusal extends Denial {
  readonly policy: Policy;
  readonly binding?: Binding;
}

/** The error for a policy or binding whose configuration is wrong. */
class ConfigurationError extends Error {
  override readonly name = "ConfigurationError";
}

const GROUP = "admissionregistration.k8s.io";
const POLICIES = `${GROUP}/validatingadmissionpolicies`;
const BINDINGS = `${GROUP}/validatingadmissionpolicybindings`;
/** Longest message of an expression, in bytes. A longer message is replaced by the default one. */
const MAX_MESSAGE_BYTES = 5 * 1_024;
const CODES: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
};

/**
 * Throws the first refusal, in the order of policy names. Adds a warning for each violation whose binding asks
 * for warnings.
 */
export async function checkPolicies(call: Call, admission: Admission): Promise<void> {
  const { store } = call.engine;
  if (store.count(BINDINGS) === 0 || store.count(POLICIES) === 0 || isExempt(call)) return;
  const bindings = store.list(BINDINGS).objects as readonly Binding[];
  const refusals: Refusal[] = [];
  for (const policy of store.list(POLICIES).objects as readonly Policy[]) {
    const own = bindings.filter(({ spec }) => spec.policyName === policy.metadata.name);
    if (own.length === 0) continue;
    const definition = matched(call, policy.spec.matchConstraints, admission);
    if (definition === undefined) continue;
    const failures = (error: unknown, binding?: Binding): void => {
      if (!(error instanceof ConfigurationError)) throw error;
      if (policy.spec.failurePolicy === "Ignore") return;
      const what = binding === undefined ? "policy" : "binding";
      const message = `failed to configure ${what}: ${error.message}`;
      refusals.push({ policy, message, ...(binding === undefined ? {} : { binding }) });
    };
    try {
      checkParamKind(call, policy);
    } catch (error) {
      failures(error);
      continue;
    }
    const shown = await asWanted(call, definition, admission);
    for (const binding of own) {
      if (matched(call, binding.spec.matchResources, admission) === undefined) continue;
      try {
        for (const denial of denialsOf(call, definition, shown, policy, binding))
          act(call, refusals, policy, binding, denial);
      } catch (error) {
        failures(error, binding);
      }
    }
  }
  const [first] = refusals;
  if (first !== undefined) throw refusalOf(call, admission, first);
}

/**
 * Whether the object configures policies. Policies do not apply to it, because a wrong policy could not be repaired
 * otherwise.
 */
function isExempt({ definition: { group, plural } }: Call): boolean {
  return group === GROUP && plural.includes("admissionpolic");
}

/** The version in which the policy checks the object; undefined if the policy does not match it. */
function matched(
  call: Call,
  resources: MatchResources | undefined,
  admission: Admission,
): ResourceDefinition | undefined {
  if (resources === undefined) return call.definition;
  if (!selectsObject(call, resources, admission)) return undefined;
  const { excludeResourceRules = [], matchPolicy, resourceRules = [] } = resources;
  const policy = matchPolicy === undefined ? {} : { matchPolicy };
  if (wantedVersion(call, { rules: excludeResourceRules, ...policy }, admission) !== undefined)
    return undefined;
  if (resourceRules.length === 0) return call.definition;
  return wantedVersion(call, { rules: resourceRules, ...policy }, admission);
}

/** The violations of one policy under one binding, for all parameters of the binding. */
function denialsOf(
  call: Call,
  definition: ResourceDefinition,
  admission: Admission,
  policy: Policy,
  binding: Binding,
): readonly Denial[] {
  const scope: Scope = policy.spec.paramKind === undefined ? "policy" : "policyWithParams";
  const params = paramsOf(call, policy, binding);
  if (params.length === 0) return [];
  const { request } = admissionReview(call, definition, admission);
  const { object, oldObject, ...about } = request;
  const bindings = {
    ...bindingsOf({ object, oldObject, request: about, namespaceObject: namespaceOf(call) }),
    authorizer: authorizerOf(call, typeof request.name === "string" ? request.name : ""),
  };
  return params.flatMap((param) =>
    judge(scope, policy, { ...bindings, ...bindingsOf({ params: param }) }),
  );
}

function judge(scope: Scope, { spec }: Policy, bindings: Bindings): readonly Denial[] {
  const fails = spec.failurePolicy !== "Ignore";
  const { matchConditions = [], validations = [], variables = [], auditAnnotations = [] } = spec;
  const conditions = conditionsHold(scope, matchConditions, bindings);
  if (conditions === false) return [];
  if (conditions !== true) return fails ? [{ message: conditions }] : [];
  const budget: Budget = { left: OBJECT_BUDGET };
  const seen = withVariables(scope, variables, bindings, budget);
  const denials: Denial[] = [];
  for (const validation of validations) {
    const outcome = evaluateIn(scope, validation.expression, seen, budget);
    // Once the budget is spent, the violations found before are dropped, as upstream does.
    if (budget.left < 0) return fails ? [{ message: OUT_OF_BUDGET }] : [];
    if (outcome.problem !== undefined) {
      if (fails) denials.push({ message: failed(validation.expression, outcome.problem) });
    } else if (outcome.value !== true)
      denials.push({
        message: messageOf(scope, validation, seen, budget),
        reason: validation.reason ?? "Invalid",
      });
    if (budget.left < 0)
      return fails ? [{ message: `failed messageExpression: ${OUT_OF_BUDGET}` }] : [];
  }
  // Audit annotations are not recorded here, but one that fails to evaluate is a violation.
  const notes: Budget = { left: OBJECT_BUDGET };
  for (const { valueExpression } of auditAnnotations) {
    const outcome = evaluateIn(scope, valueExpression, seen, notes);
    if (notes.left < 0) return fails ? [{ message: OUT_OF_BUDGET }] : [];
    if (outcome.problem !== undefined && fails)
      denials.push({ message: failed(valueExpression, outcome.problem) });
  }
  return denials;
}

/**
 * True if all match conditions are true, false if one of them is false. Otherwise the error text of the
 * conditions that failed to evaluate.
 */
function conditionsHold(
  scope: Scope,
  conditions: NonNullable<Policy["spec"]["matchConditions"]>,
  bindings: Bindings,
): boolean | string {
  const budget: Budget = { left: CONDITIONS_BUDGET };
  const problems: string[] = [];
  for (const { expression } of conditions) {
    const outcome = evaluateIn(scope, expression, bindings, budget);
    if (budget.left < 0) return OUT_OF_BUDGET;
    if (outcome.problem !== undefined) problems.push(failed(expression, outcome.problem));
    else if (outcome.value !== true) return false;
  }
  if (problems.length === 0) return true;
  return problems.length === 1 ? (problems[0] as string) : `[${problems.join(", ")}]`;
}

function failed(expression: string, problem: string): string {
  return `expression '${expression}' resulted in error: ${problem}`;
}

function messageOf(
  scope: Scope,
  { expression, message = "", messageExpression = "" }: Validation,
  bindings: Bindings,
  budget: Budget,
): string {
  if (messageExpression !== "") {
    const own = scope === "policyWithParams" ? "messageWithParams" : "message";
    const { value } = evaluateIn(own, messageExpression, bindings, budget) as { value?: unknown };
    const text = typeof value === "string" ? value.trim() : "";
    const isUsable = !text.includes("\n") && Buffer.byteLength(text) <= MAX_MESSAGE_BYTES;
    if (text !== "" && isUsable) return text;
  }
  return message.trim() || `failed expression: ${expression.trim()}`;
}

function act(
  call: Call,
  refusals: Refusal[],
  policy: Policy,
  binding: Binding,
  denial: Denial,
): void {
  const { validationActions = [] } = binding.spec;
  if (validationActions.includes("Deny")) refusals.push({ ...denial, policy, binding });
  if (!validationActions.includes("Warn")) return;
  const names = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`;
  call.warnings.push(`Validation failed for ${names}: ${denial.message}`);
}

function refusalOf(call: Call, { object, old }: Admission, refusal: Refusal): ApiError {
  const { binding, message, policy, reason = "Invalid" } = refusal;
  const bound = binding === undefined ? "" : ` with binding '${binding.metadata.name}'`;
  const text = `ValidatingAdmissionPolicy '${policy.metadata.name}'${bound} denied request: ${message}`;
  const name = call.path.name ?? (object ?? old)?.metadata.name ?? "";
  const { status } = forbidden(call.definition, name, text, [{ message: text }]);
  return new ApiError(
    fieldOf(CODES, reason) ?? 422,
    reason,
    status.message ?? text,
    status.details,
  );
}

/** The definition of a policy's parameters. Throws ConfigurationError when that kind is not served. */
function checkParamKind(call: Call, { spec }: Policy): ResourceDefinition | undefined {
  if (spec.paramKind === undefined) return undefined;
  const { apiVersion, kind } = spec.paramKind;
  const [group = "", version = ""] = apiVersion.includes("/")
    ? apiVersion.split("/")
    : ["", apiVersion];
  const found = call.engine.registry.findKind(group, version, kind);
  if (found !== undefined) return found;
  const named = `${group}/${version}, Kind=${kind}`;
  throw new ConfigurationError(`failed to find resource referenced by paramKind: '${named}'`);
}

/**
 * The parameter objects of a binding. The value null means that the policy is evaluated without parameters.
 */
function paramsOf(call: Call, policy: Policy, binding: Binding): readonly (KubeObject | null)[] {
  const definition = checkParamKind(call, policy);
  const { paramRef } = binding.spec;
  if (definition === undefined || paramRef === undefined) return [null];
  const { name = "", namespace = "", selector, parameterNotFoundAction } = paramRef;
  if (namespace !== "" && !definition.namespaced)
    throw new ConfigurationError(
      "paramRef.namespace must not be provided for a cluster-scoped `paramKind`",
    );
  const where = definition.namespaced ? namespace || (call.path.namespace ?? "") : undefined;
  if (where === "")
    throw new ConfigurationError(
      "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    );
  const { store } = call.engine;
  const one = name === "" ? undefined : store.get(definition.storageKey, where, name);
  const found =
    name === ""
      ? store
          .list(definition.storageKey, where)
          .objects.filter(({ metadata }) =>
            matchesLabelSelector(selector ?? {}, metadata.labels ?? {}),
          )
      : one === undefined
        ? []
        : [one];
  if (found.length === 0 && parameterNotFoundAction === "Deny")
    throw new ConfigurationError(
      "no params found for policy binding with `Deny` parameterNotFoundAction",
    );
  return found.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/**
 * The namespace of the object as expressions see it, without managedFields and ownerReferences. Null for
 * cluster-scoped objects.
 */
function namespaceOf({ engine, definition, path }: Call): KubeObject | null {
  const isNamespace = definition.group === "" && definition.kind === "Namespace";
  if (path.namespace === undefined || isNamespace) return null;
  const stored = engine.store.get("namespaces", undefined, path.namespace);
  if (stored === undefined) return null;
  const { apiVersion: _a, kind: _k, metadata, ...rest } = stored;
  const { managedFields: _m, ownerReferences: _o, ...kept } = metadata;
  return { ...rest, metadata: kept } as KubeObject;
}
