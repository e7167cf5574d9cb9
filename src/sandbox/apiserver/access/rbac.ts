/**
 * Role-based access: may this user do that? ClusterRoleBindings are searched first, then RoleBindings of the
 * namespace. The first rule that covers the request allows it.
 * An aggregated ClusterRole has only the rules that a controller wrote into it
 * (workloads/role-aggregation.ts). Without that controller it allows nothing.
 * upstream: plugin/pkg/auth/authorizer/rbac, component-helpers/auth/rbac/validation
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { ClusterRole, PolicyRule } from "../../../apis/rbac/kinds.ts";
import type { User } from "../api-server.ts";
import type { Store } from "../store/store.ts";
import type { Attributes } from "./attributes.ts";

/** Whether the request is allowed. */
export interface AccessVerdict {
  readonly allowed: boolean;
  /** Which binding allows the request, or an error found during the search; "" if there is nothing to say. */
  readonly reason: string;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A RoleBinding or ClusterRoleBinding. */
export interface Binding extends KubeObject {
  readonly subjects?: readonly Subject[];
  readonly roleRef: { readonly kind: string; readonly name: string };
}

const GROUP = "rbac.authorization.k8s.io";
const MASTERS = "system:masters";
const ACCOUNT = "system:serviceaccount:";

/** True for members of system:masters. They may do everything, without roles. */
export function isMaster(user: User): boolean {
  return user.groups.includes(MASTERS);
}

/** Decides by RBAC. Members of system:masters may do everything. */
export function authorize(store: Store, user: User, attributes: Attributes): AccessVerdict {
  if (isMaster(user)) return { allowed: true, reason: "" };
  const problems: string[] = [];
  const namespace = "path" in attributes ? "" : attributes.namespace;
  for (const { binding, subject, rules } of grants(store, user, namespace, problems)) {
    if (rules.some((rule) => covers(rule, attributes)))
      return { allowed: true, reason: `RBAC: allowed by ${grantText(binding, subject)}` };
  }
  return {
    allowed: false,
    reason: problems.length === 0 ? "" : `RBAC: ${listed(problems)}`,
  };
}

/** Every rule that applies to the user in a namespace, in search order. */
export function rulesFor(store: Store, user: User, namespace: string): readonly PolicyRule[] {
  return [...grants(store, user, namespace, [])].flatMap(({ rules }) => rules);
}

interface Grant {
  readonly binding: Binding;
  readonly subject: Subject;
  readonly rules: readonly PolicyRule[];
}

function* grants(
  store: Store,
  user: User,
  namespace: string,
  problems: string[],
): Generator<Grant> {
  const everywhere = store.list(`${GROUP}/clusterrolebindings`).objects;
  const here = namespace === "" ? [] : store.list(`${GROUP}/rolebindings`, namespace).objects;
  for (const binding of [...everywhere, ...here] as unknown as readonly Binding[]) {
    const subject = (binding.subjects ?? []).find((each) => isMeant(each, user, binding));
    if (subject === undefined) continue;
    const rules = roleRules(store, binding);
    if (rules !== undefined) yield { binding, subject, rules };
    else {
      const { kind, name } = binding.roleRef;
      problems.push(`${kind.toLowerCase()}.${GROUP} "${name}" not found`);
    }
  }
}

function isMeant({ kind, name, namespace }: Subject, user: User, binding: Binding): boolean {
  if (kind === "User") return user.name === name;
  if (kind === "Group") return user.groups.includes(name);
  const home = namespace ?? binding.metadata.namespace ?? "";
  return kind === "ServiceAccount" && user.name === `${ACCOUNT}${home}:${name}`;
}

/** The rules of the role that a binding names; undefined if that role does not exist. */
export function roleRules(
  store: Store,
  { metadata, roleRef }: Binding,
): readonly PolicyRule[] | undefined {
  const isLocal = roleRef.kind === "Role";
  const role = (
    isLocal
      ? store.get(`${GROUP}/roles`, metadata.namespace, roleRef.name)
      : store.get(`${GROUP}/clusterroles`, undefined, roleRef.name)
  ) as ClusterRole | undefined;
  return role && (role.rules ?? []);
}

function covers(rule: PolicyRule, attributes: Attributes): boolean {
  if (!includes(rule.verbs, attributes.verb)) return false;
  if ("path" in attributes) {
    return (rule.nonResourceURLs ?? []).some(
      (pattern) =>
        pattern === "*" ||
        pattern === attributes.path ||
        (pattern.endsWith("*") && attributes.path.startsWith(pattern.slice(0, -1))),
    );
  }
  const { group, resource, subresource, name } = attributes;
  const names = rule.resourceNames ?? [];
  return (
    includes(rule.apiGroups ?? [], group) &&
    coversResource(rule.resources ?? [], resource, subresource) &&
    (names.length === 0 || names.includes(name))
  );
}

function coversResource(list: readonly string[], resource: string, subresource: string): boolean {
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  return list.some(
    (entry) =>
      entry === "*" || entry === full || (subresource !== "" && entry === `*/${subresource}`),
  );
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}

function grantText(binding: Binding, subject: Subject): string {
  const { kind, metadata, roleRef } = binding;
  const isLocal = metadata.namespace !== undefined;
  const named = isLocal ? `${metadata.name}/${metadata.namespace}` : metadata.name;
  const { namespace = metadata.namespace } = subject;
  const who =
    subject.kind === "ServiceAccount"
      ? `ServiceAccount "${subject.name}/${namespace}"`
      : `${subject.kind} "${subject.name}"`;
  const bindingKind = kind ?? (isLocal ? "RoleBinding" : "ClusterRoleBinding");
  return `${bindingKind} "${named}" of ${roleRef.kind} "${roleRef.name}" to ${who}`;
}

function listed(problems: readonly string[]): string {
  return problems.length === 1 ? (problems[0] as string) : `[${problems.join(", ")}]`;
}
