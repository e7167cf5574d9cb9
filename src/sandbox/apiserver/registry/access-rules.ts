/**
 * Defaults and validation of Roles, ClusterRoles and their bindings.
 * upstream: pkg/apis/rbac/{v1/defaults.go,validation/validation.go}
 */
import { deepEqual } from "../../../base/json.ts";
import { invalid, notSupported, required } from "../schema/field-error.ts";
import { nameProblems } from "../schema/metadata.ts";
import type { FieldError } from "../schema/schema.ts";
import { fallback, type KindRules, type Raw } from "./kind-rules.ts";
import { validateSelector } from "./selector-rules.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";

/** Defaults and validation of a Role. */
export const ROLE_RULES: KindRules = {
  names: "path",
  defaults: nullRules,
  validate: (role) => ruleErrors(role, true),
};

/** Defaults and validation of a ClusterRole. */
export const CLUSTER_ROLE_RULES: KindRules = {
  names: "path",
  defaults: nullRules,
  validate: (role) => [...ruleErrors(role, false), ...aggregationErrors(role)],
};

/** Writes missing rules as null: in Go, these kinds do not omit an empty list. */
function nullRules(role: Raw): void {
  if ((role.rules ?? []).length === 0) role.rules = null;
}

function ruleErrors(role: Raw, namespaced: boolean): FieldError[] {
  const rules: readonly Raw[] = role.rules ?? [];
  return rules.flatMap((rule, index) => oneRule(rule, `rules[${index}]`, namespaced));
}

/** Errors of the selectors in an aggregationRule. */
function aggregationErrors({ aggregationRule }: Raw): FieldError[] {
  if (aggregationRule === undefined) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors: readonly Raw[] = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length > 0)
    return selectors.flatMap((each, index) => validateSelector(each, `${path}[${index}]`));
  const text = "at least one clusterRoleSelector required if aggregationRule is non-nil";
  return [required(path, text)];
}

function oneRule(rule: Raw, path: string, namespaced: boolean): FieldError[] {
  const { verbs = [], nonResourceURLs = [], apiGroups = [], resources = [] } = rule;
  const errors: FieldError[] = [];
  if (verbs.length === 0)
    errors.push(required(`${path}.verbs`, "verbs must contain at least one value"));
  if (nonResourceURLs.length > 0) {
    const refuse = (text: string) => invalid(`${path}.nonResourceURLs`, nonResourceURLs, text);
    if (namespaced) errors.push(refuse("namespaced rules cannot apply to non-resource URLs"));
    const names = rule.resourceNames ?? [];
    if (apiGroups.length > 0 || resources.length > 0 || names.length > 0)
      errors.push(refuse("rules cannot apply to both regular resources and non-resource URLs"));
    return errors;
  }
  if (apiGroups.length === 0) {
    const text = "resource rules must supply at least one api group";
    errors.push(required(`${path}.apiGroups`, text));
  }
  if (resources.length === 0) {
    const text = "resource rules must supply at least one resource";
    errors.push(required(`${path}.resources`, text));
  }
  return errors;
}

/** Rules of a binding. Its role cannot change. Users and groups get the rbac API group by default. */
function bindingRules(roleKinds: readonly string[]): KindRules {
  return {
    names: "path",
    defaults(binding) {
      if (binding.roleRef !== undefined) fallback(binding.roleRef, "apiGroup", RBAC_GROUP);
      for (const subject of binding.subjects ?? []) {
        if (subject.kind !== "ServiceAccount") fallback(subject, "apiGroup", RBAC_GROUP);
      }
    },
    validate(binding, current) {
      const { apiGroup, kind, name = "" } = binding.roleRef ?? {};
      const errors: FieldError[] = [];
      if (apiGroup !== RBAC_GROUP)
        errors.push(notSupported("roleRef.apiGroup", apiGroup ?? "", [RBAC_GROUP]));
      if (!roleKinds.includes(kind))
        errors.push(notSupported("roleRef.kind", kind ?? "", roleKinds));
      if (name === "") errors.push(required("roleRef.name"));
      const subjects: readonly Raw[] = binding.subjects ?? [];
      const isNamespaced = roleKinds.length > 1;
      subjects.forEach((subject, index) => {
        errors.push(...subjectErrors(subject, `subjects[${index}]`, isNamespaced));
      });
      if (current !== undefined && !deepEqual(binding.roleRef, current.roleRef)) {
        // The error shows Go's struct of the role reference, with these field names.
        const shown = { APIGroup: apiGroup, Kind: kind, Name: name };
        errors.push(invalid("roleRef", shown, "cannot change roleRef"));
      }
      return errors;
    },
  };
}

function subjectErrors(subject: Raw, path: string, isNamespaced: boolean): FieldError[] {
  const { kind = "", name = "", namespace = "", apiGroup = "" } = subject;
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(`${path}.name`));
  const wantedGroup = kind === "ServiceAccount" ? "" : RBAC_GROUP;
  if (!["ServiceAccount", "User", "Group"].includes(kind))
    errors.push(notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]));
  else if (apiGroup !== wantedGroup)
    errors.push(notSupported(`${path}.apiGroup`, apiGroup, [wantedGroup]));
  if (kind !== "ServiceAccount") return errors;
  if (name !== "")
    for (const text of nameProblems(name, "subdomain"))
      errors.push(invalid(`${path}.name`, name, text));
  if (!isNamespaced && namespace === "") errors.push(required(`${path}.namespace`));
  return errors;
}

/** Rules of a RoleBinding. */
export const ROLE_BINDING_RULES: KindRules = bindingRules(["Role", "ClusterRole"]);
/** Rules of a ClusterRoleBinding. */
export const CLUSTER_ROLE_BINDING_RULES: KindRules = bindingRules(["ClusterRole"]);
