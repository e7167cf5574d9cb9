/**
 * Validation of the scheduling rules of a pod: tolerations, affinities, topology spread. Other kinds share the node
 * selectors.
 * upstream: pkg/apis/core/validation/validation.go
 */
import { duplicate, invalid, notSupported, required } from "../schema/field-error.ts";
import { labelValueProblems, nameProblems, qualifiedNameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";
import { eachOf } from "./list-rules.ts";
import { validateSelector } from "./selector-rules.ts";

const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Errors of `spec.tolerations`. Empty: valid. */
export function validateTolerations(
  tolerations: readonly Raw[] | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  (tolerations ?? []).forEach((toleration, index) => {
    const at = `${path}[${index}]`;
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    if (key !== "") {
      for (const text of qualifiedNameProblems(key)) errors.push(invalid(`${at}.key`, key, text));
    }
    if (key === "" && operator !== "Exists") {
      const text =
        'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(invalid(`${at}.operator`, operator, text));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== "NoExecute") {
      const text = "effect must be 'NoExecute' when `tolerationSeconds` is set";
      errors.push(invalid(`${at}.effect`, effect, text));
    }
    if (operator === "Exists" && value !== "") {
      const text = "value must be empty when `operator` is 'Exists'";
      errors.push(invalid(`${at}.operator`, value, text));
    } else if (operator === "Equal" || operator === "") {
      for (const text of labelValueProblems(value)) {
        errors.push(invalid(`${at}.operator`, value, text));
      }
    } else if (operator !== "Exists") {
      errors.push(notSupported(`${at}.operator`, operator, ["Equal", "Exists"]));
    }
    if (effect !== "" && !TAINT_EFFECTS.includes(effect)) {
      errors.push(notSupported(`${at}.effect`, effect, TAINT_EFFECTS));
    }
  });
  return errors;
}

/** Errors of `spec.affinity`. Empty: valid. */
export function validateAffinity(affinity: Raw, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const node = affinity?.nodeAffinity;
  const requiredTerms = node?.requiredDuringSchedulingIgnoredDuringExecution;
  if (requiredTerms !== undefined) {
    const at = `${path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution`;
    errors.push(...validateNodeSelector(requiredTerms, at));
  }
  const preferred = node?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  preferred.forEach((term: Raw, index: number) => {
    const at = `${path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    errors.push(...validateWeight(term.weight, at));
    errors.push(...validateNodeTerm(term.preference ?? {}, `${at}.preference`));
  });
  for (const kind of ["podAffinity", "podAntiAffinity"]) {
    const terms = affinity?.[kind];
    const hard = terms?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    hard.forEach((term: Raw, index: number) => {
      const at = `${path}.${kind}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`;
      errors.push(...validateNeighbours(term, at));
    });
    const soft = terms?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    soft.forEach((term: Raw, index: number) => {
      const at = `${path}.${kind}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
      errors.push(...validateWeight(term.weight, at));
      errors.push(...validateNeighbours(term.podAffinityTerm, `${at}.podAffinityTerm`));
    });
  }
  return errors;
}

function validateNeighbours(term: Raw, path: string): FieldError[] {
  return [
    ...validateSelector(term?.labelSelector, `${path}.labelSelector`),
    ...validateSelector(term?.namespaceSelector, `${path}.namespaceSelector`),
    ...validateTopologyKey(term?.topologyKey, `${path}.topologyKey`),
  ];
}

/** Errors of a node selector: its terms and their number. */
export function validateNodeSelector(selector: Raw, path: string): FieldError[] {
  const at = `${path}.nodeSelectorTerms`;
  const terms: readonly Raw[] = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [required(at, "must have at least one node selector term")];
  return eachOf(terms, at, validateNodeTerm);
}

function validateNodeTerm(term: Raw, path: string): FieldError[] {
  const errors: FieldError[] = [];
  (term.matchExpressions ?? []).forEach((expression: Raw, index: number) => {
    const at = `${path}.matchExpressions[${index}]`;
    const { key = "", operator, values = [] } = expression;
    for (const text of qualifiedNameProblems(key)) errors.push(invalid(`${at}.key`, key, text));
    if (operator === "In" || operator === "NotIn") {
      if (values.length === 0) {
        const text = "must be specified when `operator` is 'In' or 'NotIn'";
        errors.push(required(`${at}.values`, text));
      }
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (values.length > 0) {
        errors.push({
          field: `${at}.values`,
          reason: "FieldValueForbidden",
          message: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        });
      }
    } else if (operator === "Gt" || operator === "Lt") {
      if (values.length !== 1) {
        const text = "must be specified single value when `operator` is 'Lt' or 'Gt'";
        errors.push(required(`${at}.values`, text));
      }
    } else {
      errors.push(invalid(`${at}.operator`, operator ?? "", "not a valid selector operator"));
    }
  });
  return [...errors, ...eachOf(term.matchFields, `${path}.matchFields`, validateNodeField)];
}

/** Errors of a requirement on a node's field. Only the name is allowed. */
function validateNodeField({ key = "", operator = "", values = [] }: Raw, at: string) {
  const errors: FieldError[] = [];
  if (operator !== "In" && operator !== "NotIn") {
    errors.push(invalid(`${at}.operator`, operator, "not a valid selector operator"));
  } else if (values.length !== 1) {
    const text =
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    errors.push(required(`${at}.values`, text));
  }
  if (key !== "metadata.name") {
    return [...errors, invalid(`${at}.key`, key, "not a valid field selector key")];
  }
  const nameErrors = eachOf(values, `${at}.values`, (value: Raw, field) =>
    nameProblems(String(value), "subdomain").map((text) => invalid(field, value, text)),
  );
  return [...errors, ...nameErrors];
}

function validateWeight(weight: number | undefined, path: string): FieldError[] {
  if (weight !== undefined && weight >= 1 && weight <= 100) return [];
  return [invalid(`${path}.weight`, weight ?? 0, "must be in the range 1-100")];
}

function validateTopologyKey(key: string | undefined, path: string): FieldError[] {
  if (key === undefined || key === "") return [required(path, "can not be empty")];
  return qualifiedNameProblems(key).map((text) => invalid(path, key, text));
}

/** Errors of `spec.topologySpreadConstraints`. Empty: valid. */
export function validateSpread(
  constraints: readonly Raw[] | undefined,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  (constraints ?? []).forEach((constraint, index) => {
    const at = `${path}[${index}]`;
    const { maxSkew = 0, topologyKey = "", whenUnsatisfiable, minDomains } = constraint;
    if (maxSkew <= 0) errors.push(invalid(`${at}.maxSkew`, maxSkew, "must be greater than zero"));
    if (topologyKey === "") errors.push(required(`${at}.topologyKey`, "can not be empty"));
    const supported = ["DoNotSchedule", "ScheduleAnyway"];
    if (!supported.includes(whenUnsatisfiable)) {
      errors.push(notSupported(`${at}.whenUnsatisfiable`, whenUnsatisfiable, supported));
    }
    const id = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (seen.has(id)) errors.push(duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, id));
    seen.add(id);
    if (minDomains !== undefined && minDomains <= 0) {
      errors.push(invalid(`${at}.minDomains`, minDomains, "must be greater than zero"));
    }
    if (minDomains !== undefined && whenUnsatisfiable !== "DoNotSchedule") {
      const text = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
      errors.push(invalid(`${at}.minDomains`, minDomains, text));
    }
    errors.push(...validateSelector(constraint.labelSelector, `${at}.labelSelector`));
  });
  return errors;
}
