/**
 * Type check of the expressions of an admission policy when the policy is written. `request` and
 * `namespaceObject` have typed fields. A variable has the type of its own expression. Objects and parameters
 * have any type.
 * upstream: apiserver pkg/admission/plugin/cel/compile.go, composition.go
 */
import { Environment, type ObjectSchema } from "@marcbachmann/cel-js";
import { firstLineOf } from "../../../base/error-text.ts";
import { isObject } from "../../../base/json.ts";
import { compileRe2 } from "../../../readers/re2.ts";
import { registerAuthorizer } from "./authorizer.ts";
import { withGoPatterns } from "./engine.ts";
import { registerKubernetesLibrary } from "./library.ts";

/** What an expression may name in addition to the objects, the request and the namespace. */
export interface PolicyNames {
  readonly params: boolean;
  readonly authorizer: boolean;
  /** Type of each variable by name. Undefined if the expression sees no variables. */
  readonly variables: Readonly<Record<string, string>> | undefined;
}

/** The type of an expression, or why it does not compile. */
export type PolicyType = { readonly type: string } | { readonly problem: string };

/** Object types by Kubernetes' names. Each type is listed after the types that it uses. */
const OBJECTS: Readonly<Record<string, ObjectSchema>> = {
  "kubernetes.GroupVersionKind": { group: "string", version: "string", kind: "string" },
  "kubernetes.GroupVersionResource": { group: "string", version: "string", resource: "string" },
  "kubernetes.UserInfo": {
    username: "string",
    uid: "string",
    groups: "list<string>",
    extra: "map<string, list<string>>",
  },
  "kubernetes.AdmissionRequest": {
    kind: "kubernetes.GroupVersionKind",
    resource: "kubernetes.GroupVersionResource",
    subResource: "string",
    requestKind: "kubernetes.GroupVersionKind",
    requestResource: "kubernetes.GroupVersionResource",
    requestSubResource: "string",
    name: "string",
    namespace: "string",
    operation: "string",
    userInfo: "kubernetes.UserInfo",
    dryRun: "bool",
    options: "dyn",
  },
  "kubernetes.NamespaceMetadata": {
    name: "string",
    generateName: "string",
    namespace: "string",
    labels: "map<string, string>",
    annotations: "map<string, string>",
    UID: "string",
    creationTimestamp: "google.protobuf.Timestamp",
    deletionGracePeriodSeconds: "int",
    deletionTimestamp: "google.protobuf.Timestamp",
    generation: "int",
    resourceVersion: "string",
    finalizers: "list<string>",
  },
  "kubernetes.NamespaceSpec": { finalizers: "list<string>" },
  "kubernetes.NamespaceStatus": { conditions: "list<dyn>", phase: "string" },
  "kubernetes.Namespace": {
    metadata: "kubernetes.NamespaceMetadata",
    spec: "kubernetes.NamespaceSpec",
    status: "kubernetes.NamespaceStatus",
  },
};

/** The type of an expression in the engine's spelling (`list<string>`), or the compile error. */
export function typeIn(names: PolicyNames, expression: string): PolicyType {
  try {
    const program = environmentOf(names).parse(withGoPatterns(expression));
    const { valid, type = "dyn", error } = program.check();
    if (!valid) return { problem: firstLineOf(error) };
    return hasBadPattern(program.ast) ? { problem: "invalid matches argument" } : { type };
  } catch (error) {
    return { problem: firstLineOf(error) };
  }
}

/** True if a literal regular expression is invalid. */
function hasBadPattern(ast: unknown): boolean {
  const todo: unknown[] = [ast];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (Array.isArray(node)) todo.push(...node);
    if (!isObject(node)) continue;
    const { op, args } = node;
    todo.push(args);
    if (op !== "rcall" || !Array.isArray(args) || args[0] !== "matchesRe2") continue;
    const [, , [pattern]] = args as [string, unknown, readonly unknown[]];
    const text = isObject(pattern) && pattern["op"] === "value" ? pattern["args"] : undefined;
    if (typeof text === "string" && typeof compileRe2(text) === "string") return true;
  }
  return false;
}

/** A type in Kubernetes' spelling (`list(string)`). */
export function shownType(type: string): string {
  const spelt = type.replaceAll("<", "(").replaceAll(">", ")");
  return spelt.replace(/\bnull\b/g, "null_type").replace("google.protobuf.Timestamp", "timestamp");
}

function environmentOf({ authorizer, params, variables }: PolicyNames): Environment {
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    homogeneousAggregateLiterals: false,
    enableOptionalTypes: true,
    limits: { maxListElements: 10_000, maxAstNodes: 100_000 },
  });
  environment.registerVariable("object", "dyn").registerVariable("oldObject", "dyn");
  for (const [name, schema] of Object.entries(OBJECTS)) {
    environment.registerType(name, { schema });
    // Objects may be null, such as the namespace of a cluster-scoped object.
    environment.registerOperator(`${name} == null`, () => false);
  }
  environment.registerVariable("request", "kubernetes.AdmissionRequest");
  environment.registerVariable("namespaceObject", "kubernetes.Namespace");
  registerKubernetesLibrary(environment);
  if (authorizer) registerAuthorizer(environment);
  if (params) environment.registerVariable("params", "dyn");
  if (variables !== undefined) environment.registerVariable("variables", { schema: variables });
  return environment;
}
