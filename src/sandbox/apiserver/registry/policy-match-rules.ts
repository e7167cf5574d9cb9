/**
 * What policies and bindings match: resources, operations, selectors.
 * upstream: pkg/apis/admissionregistration/validation
 */
import { duplicate, invalid, notSupported, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import type { Raw } from "./kind-rules.ts";
import { validateSelector } from "./selector-rules.ts";

const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES = ["*", "Cluster", "Namespaced"];

/** Errors of `matchConstraints` or `matchResources`. Empty: valid. */
export function matchErrors(resources: Raw, path: string): FieldError[] {
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
  const { scope } = rule;
  const operations: readonly string[] = rule.operations ?? [];
  const apiVersions: readonly string[] = rule.apiVersions ?? [];
  const errors = [
    ...nameErrors(rule.resourceNames ?? [], `${path}.resourceNames`),
    ...wildcardErrors(operations, `${path}.operations`, "other operations"),
  ];
  operations.forEach((operation, index) => {
    if (!OPERATIONS.includes(operation))
      errors.push(notSupported(`${path}.operations[${index}]`, operation, OPERATIONS));
  });
  errors.push(
    ...wildcardErrors(rule.apiGroups ?? [], `${path}.apiGroups`, "other API groups"),
    ...wildcardErrors(apiVersions, `${path}.apiVersions`, "other API versions"),
  );
  apiVersions.forEach((version, index) => {
    if (version === "") errors.push(required(`${path}.apiVersions[${index}]`));
  });
  errors.push(...resourceErrors(rule.resources ?? [], `${path}.resources`));
  if (scope !== undefined && !SCOPES.includes(scope))
    errors.push(notSupported(`${path}.scope`, scope, SCOPES));
  return errors;
}

function nameErrors(names: readonly string[], path: string): FieldError[] {
  const seen = new Set<string>();
  return names.flatMap((name, index) => {
    const errors = nameProblems(name, "path").map((text) =>
      invalid(`${path}[${index}]`, name, text),
    );
    if (seen.has(name)) errors.push(duplicate(`${path}[${index}]`, name));
    seen.add(name);
    return errors;
  });
}

function wildcardErrors(list: readonly string[], path: string, others: string): FieldError[] {
  if (list.length === 0) return [required(path)];
  if (list.length < 2 || !list.includes("*")) return [];
  return [invalid(path, list, `if '*' is present, must not specify ${others}`)];
}

/**
 * Errors of resources such as `pods`, `pods/status`, `pods/*` and `*\/status`. A resource that an earlier one
 * covers must not be listed.
 */
function resourceErrors(resources: readonly string[], path: string): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const errors: FieldError[] = [];
  const covered = new Set<string>();
  let last = "";
  resources.forEach((resource, index) => {
    const at = `${path}[${index}]`;
    if (resource === "") {
      errors.push(required(at));
      return;
    }
    const [name = "", ...rest] = resource.split("/");
    if (rest.length === 0) {
      last = resource;
      return;
    }
    const part = rest.join("/");
    for (const wide of [`${name}/*`, `*/${part}`])
      if (covered.has(wide)) {
        const text = `if '${wide}' is present, must not specify ${resource}`;
        errors.push(invalid(at, resource, text));
      }
    if (part === "*" || name === "*") covered.add(resource);
  });
  if (resources.length > 1 && resources.includes("*/*"))
    errors.push(invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  // Upstream checks only the last resource without a subresource.
  if (resources.includes("*") && last !== "" && last !== "*") {
    const text = "if '*' is present, must not specify other resources without subresources";
    errors.push(invalid(path, resources, text));
  }
  return errors;
}
