/**
 * Nobody grants rights that they do not have. To write a role, a user must hold its rules or have the verb
 * `escalate`. To write a binding, a user must hold the rules of its role or have the verb `bind`.
 * upstream: pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/policybased,
 * pkg/registry/rbac/validation, component-helpers/auth/rbac/validation/policy_comparator.go
 */
import type { KubeObject } from "../../../apis/meta.ts";
import type { ClusterRole, PolicyRule } from "../../../apis/rbac/kinds.ts";
import { deepEqual } from "../../../base/json.ts";
import type { Call } from "../engine.ts";
import { forbidden, notFound } from "../request/status.ts";
import { authorize, type Binding, isMaster, roleRules, rulesFor } from "./rbac.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
  { verbs: ["*"], nonResourceURLs: ["*"] },
];

/** Throws 403 for a role or binding that grants rights which its writer does not have. */
export function checkEscalation(call: Call, next: KubeObject, current?: KubeObject): void {
  const { definition, user } = call;
  if (definition.group !== RBAC_GROUP || isMaster(user)) return;
  if (current !== undefined && deepEqual(withoutUpkeep(next), withoutUpkeep(current))) return;
  if (definition.kind.endsWith("Binding")) checkBinding(call, next as Binding);
  else checkRole(call, next as ClusterRole, current as ClusterRole | undefined);
}

/** The object without the metadata that the garbage collector changes: a change there grants no right. */
function withoutUpkeep(object: KubeObject): KubeObject {
  const {
    finalizers: _f,
    ownerReferences: _o,
    managedFields: _m,
    resourceVersion: _r,
    generation: _g,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

function checkRole(call: Call, role: ClusterRole, before: ClusterRole | undefined): void {
  const { name } = role.metadata;
  if (may(call, "escalate", call.definition.plural, call.path.name ?? "")) return;
  const isMadeOfOthers = [role, before].some((one) => one?.aggregationRule !== undefined);
  if (isMadeOfOthers && missingRights(call, EVERYTHING).length > 0)
    throw forbidden(
      call.definition,
      name,
      "must have cluster-admin privileges to use the aggregationRule",
    );
  refuseMissing(call, name, role.rules ?? []);
}

function checkBinding(call: Call, binding: Binding): void {
  const { kind, name } = binding.roleRef;
  if (may(call, "bind", kind === "Role" ? "roles" : "clusterroles", name ?? "")) return;
  const rules = roleRules(call.engine.store, binding);
  if (rules === undefined) throw notFound(call.definition, name ?? "");
  refuseMissing(call, binding.metadata.name, rules);
}

function may(call: Call, verb: string, resource: string, name: string): boolean {
  const { engine, user, path } = call;
  const namespace = path.namespace ?? "";
  const attributes = { verb, group: RBAC_GROUP, resource, subresource: "", namespace, name };
  return authorize(engine.store, user, attributes).allowed;
}

function refuseMissing(call: Call, name: string, rules: readonly PolicyRule[]): void {
  const missing = missingRights(call, rules);
  if (missing.length === 0) return;
  const { user, definition } = call;
  const texts = [...new Set(compacted(missing).map(ruleText))].sort();
  const who = `user ${JSON.stringify(user.name)} (groups=${quotedList(user.groups)})`;
  const why = `${who} is attempting to grant RBAC permissions not currently held:\n${texts.join("\n")}`;
  throw forbidden(definition, name, why);
}

/** The rules that the user does not hold, each split into single rights. */
function missingRights(call: Call, rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const held = rulesFor(call.engine.store, call.user, call.path.namespace ?? "");
  return rules.flatMap(singleRights).filter((right) => !held.some((rule) => holds(rule, right)));
}

function singleRights(rule: PolicyRule): readonly PolicyRule[] {
  const names = rule.resourceNames ?? [];
  const byName = names.length === 0 ? [undefined] : names;
  const resources = (rule.apiGroups ?? []).flatMap((group) =>
    (rule.resources ?? []).flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        byName.map((name) => ({
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          ...(name === undefined ? {} : { resourceNames: [name] }),
        })),
      ),
    ),
  );
  const paths = (rule.nonResourceURLs ?? []).flatMap((url) =>
    rule.verbs.map((verb) => ({ verbs: [verb], nonResourceURLs: [url] })),
  );
  return [...resources, ...paths];
}

/** Whether a rule that the user holds includes a right. The right `*` is included only by the rule `*`. */
function holds(rule: PolicyRule, right: PolicyRule): boolean {
  const names = rule.resourceNames ?? [];
  const wantedNames = right.resourceNames ?? [];
  return (
    includesAll(rule.verbs, right.verbs) &&
    includesAll(rule.apiGroups ?? [], right.apiGroups ?? []) &&
    (right.resources ?? []).every((resource) => holdsResource(rule.resources ?? [], resource)) &&
    (right.nonResourceURLs ?? []).every((path) => holdsPath(rule.nonResourceURLs ?? [], path)) &&
    (names.length === 0 ||
      (wantedNames.length > 0 && wantedNames.every((name) => names.includes(name))))
  );
}

function includesAll(held: readonly string[], wanted: readonly string[]): boolean {
  return held.includes("*") || wanted.every((value) => held.includes(value));
}

function holdsResource(held: readonly string[], wanted: string): boolean {
  const [, subresource] = wanted.split("/");
  return (
    held.includes("*") ||
    held.includes(wanted) ||
    (subresource !== undefined && held.includes(`*/${subresource}`))
  );
}

function holdsPath(held: readonly string[], wanted: string): boolean {
  return held.some(
    (path) => path === wanted || (path.endsWith("*") && wanted.startsWith(path.slice(0, -1))),
  );
}

/** Joins rights on the same resource into one rule with several verbs, which makes the message shorter. */
function compacted(rights: readonly PolicyRule[]): readonly PolicyRule[] {
  const byThing = new Map<string, PolicyRule>();
  for (const { verbs, ...thing } of rights) {
    const isPath = thing.nonResourceURLs !== undefined;
    const key = JSON.stringify(isPath ? { verbs, ...thing } : thing);
    const known = byThing.get(key)?.verbs ?? [];
    byThing.set(key, { ...thing, verbs: [...known, ...verbs] });
  }
  return [...byThing.values()];
}

function ruleText(rule: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const said = parts.flatMap(([name, list = []]) =>
    list.length === 0 ? [] : `${name}:${quotedList(list)}`,
  );
  return `{${said.join(", ")}}`;
}

/** Formats a list of texts as Go does with `%q`. */
function quotedList(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(" ")}]`;
}
