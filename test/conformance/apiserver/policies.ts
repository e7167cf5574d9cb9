/**
 * Admission policies and RuntimeClasses that are refused, and some that look odd and are accepted. Expressions
 * that cannot be compiled have their own checks, because the sandbox refuses them in other words.
 */
import { type Check, check, get, mergePatch, post } from "./check.ts";

const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const CLASSES = "/apis/node.k8s.io/v1/runtimeclasses";

const RULE = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };
const MATCH = { resourceRules: [RULE] };
const FINE = { expression: "true" };

function policy(spec: object, name = "<<ns>>-a"): object {
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name },
    spec: { matchConstraints: MATCH, validations: [FINE], ...spec },
  };
}

/** Creates a policy as a dry run, so it is never stored. */
function tried(spec: object, name?: string) {
  return post(`${POLICIES}?dryRun=All`, policy(spec, name));
}

function triedRule(rule: object) {
  return tried({ matchConstraints: { resourceRules: [{ ...RULE, ...rule }] } });
}

function triedBinding(spec: object) {
  return post(`${BINDINGS}?dryRun=All`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "<<ns>>-a" },
    spec: { policyName: "a", validationActions: ["Deny"], ...spec },
  });
}

function triedClass(fields: object, name = "<<ns>>-a") {
  return post(`${CLASSES}?dryRun=All`, {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name },
    handler: "runc",
    ...fields,
  });
}

function triedParams(paramKind: object) {
  return tried({ paramKind });
}

const TOLERATION = { key: "a", operator: "Exists", effect: "NoSchedule" };

export const POLICY_CHECKS: readonly Check[] = [
  check(
    "PY-01",
    "policies that lack something, or say something unknown",
    tried({ failurePolicy: "Perhaps" }),
    tried({ failurePolicy: "" }),
    tried({ matchConstraints: undefined }),
    tried({ matchConstraints: {} }),
    tried({ matchConstraints: { ...MATCH, matchPolicy: "Nearly" } }),
    tried({ validations: undefined }),
    tried({ validations: [] }),
    tried({ validations: [{ expression: " " }] }),
    tried({ validations: [{ ...FINE, reason: "Whatever" }] }),
    tried({ validations: [{ ...FINE, message: " " }] }),
    tried({ validations: [{ ...FINE, message: "a\nb" }] }),
    tried({ validations: [{ ...FINE, messageExpression: " " }] }),
    tried({}, "Upper_Case"),
    post(POLICIES, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: "<<ns>>-a" },
    }),
  ),
  check(
    "PY-02",
    "rules that match nothing, or too much",
    triedRule({ operations: [] }),
    triedRule({ operations: ["*", "CREATE"] }),
    triedRule({ operations: ["READ"] }),
    triedRule({ apiGroups: [] }),
    triedRule({ apiGroups: ["*", "apps"] }),
    triedRule({ apiVersions: [] }),
    triedRule({ apiVersions: ["*", "v1"] }),
    triedRule({ apiVersions: [""] }),
    triedRule({ resources: [] }),
    triedRule({ resources: [""] }),
    triedRule({ resources: ["*", "pods"] }),
    triedRule({ resources: ["*/*", "pods"] }),
    triedRule({ resources: ["pods/*", "pods/status"] }),
    triedRule({ resources: ["*/status", "pods/status"] }),
    triedRule({ resources: ["*", "pods/status"] }),
    triedRule({ scope: "World" }),
    triedRule({ resourceNames: ["a", "a"] }),
    triedRule({ resourceNames: ["a/b", ".."] }),
    tried({ matchConstraints: { ...MATCH, excludeResourceRules: [{ ...RULE, resources: [] }] } }),
    tried({ matchConstraints: { ...MATCH, objectSelector: { matchLabels: { "a b": "c d" } } } }),
    tried({
      matchConstraints: {
        ...MATCH,
        namespaceSelector: {
          matchExpressions: [
            { key: "a", operator: "In" },
            { key: "b", operator: "Near", values: ["c"] },
          ],
        },
      },
    }),
  ),
  check(
    "PY-03",
    "kinds of parameters",
    triedParams({}),
    triedParams({ kind: "ConfigMap" }),
    triedParams({ apiVersion: "v1" }),
    triedParams({ apiVersion: "a/b/c", kind: "ConfigMap" }),
    triedParams({ apiVersion: "A_B/v1", kind: "ConfigMap" }),
    triedParams({ apiVersion: "apps/", kind: "ConfigMap" }),
    triedParams({ apiVersion: "apps/V_1", kind: "ConfigMap" }),
    triedParams({ apiVersion: "/", kind: "ConfigMap" }),
    triedParams({ apiVersion: "v1", kind: "Config Map" }),
    triedParams({ apiVersion: "example.com/v1", kind: "NotThere" }),
  ),
  check(
    "PY-04",
    "conditions, variables and audit annotations by their names",
    tried({ matchConditions: [{ name: "", expression: "true" }] }),
    tried({ matchConditions: [{ name: "a b", expression: "true" }] }),
    tried({ matchConditions: [{ name: "a", expression: " " }] }),
    tried({
      matchConditions: [
        { name: "a", expression: "true" },
        { name: "a", expression: "false" },
      ],
    }),
    tried({ variables: [{ name: "", expression: "1" }] }),
    tried({ variables: [{ name: "a-b", expression: "1" }] }),
    tried({ variables: [{ name: "in", expression: "1" }] }),
    tried({ variables: [{ name: "namespace", expression: "1" }] }),
    tried({ variables: [{ name: "object", expression: "1" }] }),
    tried({ variables: [{ name: "a", expression: "" }] }),
    tried({
      variables: [
        { name: "a", expression: "1" },
        { name: "a", expression: "2" },
      ],
    }),
    tried({ validations: [], auditAnnotations: [{ key: "a b", valueExpression: "'x'" }] }),
    tried({ validations: [], auditAnnotations: [{ key: "a", valueExpression: "" }] }),
    tried({
      validations: [],
      auditAnnotations: [
        { key: "a", valueExpression: "'x'" },
        { key: "a", valueExpression: "'y'" },
      ],
    }),
    tried({ validations: [], auditAnnotations: [{ key: "a", valueExpression: "null" }] }),
  ),
  check(
    "PY-05",
    "expressions of another type than is wanted",
    tried({ validations: [{ expression: "'a'" }] }),
    tried({ validations: [{ expression: "object.spec" }] }),
    tried({ validations: [{ ...FINE, messageExpression: "1" }] }),
    tried({ matchConditions: [{ name: "a", expression: "1" }] }),
    tried({ validations: [], auditAnnotations: [{ key: "a", valueExpression: "true" }] }),
    tried({
      variables: [{ name: "a", expression: "object.metadata.name" }],
      validations: [{ expression: "variables.a == 'b'" }],
    }),
    tried({
      variables: [{ name: "a", expression: "1" }],
      validations: [{ expression: "variables.a" }],
    }),
    tried({
      validations: [{ expression: "has(object.spec.replicas) && object.spec.replicas < 5" }],
    }),
    tried({
      validations: [
        { expression: "request.operation == 'CREATE' && request.userInfo.username != ''" },
      ],
    }),
    tried({ validations: [{ expression: "namespaceObject.metadata.labels['a'] == 'b'" }] }),
    tried({
      validations: [
        {
          expression: "object.metadata.name.matches('^a') && url('https://a.b').getHost() == 'a.b'",
        },
      ],
    }),
    tried({
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      validations: [{ expression: "params == null || params.data.a == '1'" }],
    }),
  ),
  check(
    "PY-06",
    "expressions that cannot be compiled",
    tried({ validations: [{ expression: "1 +" }] }),
    tried({ validations: [{ expression: "nobody" }] }),
    tried({ validations: [{ expression: "params.data == {}" }] }),
    tried({ validations: [{ expression: "request.nothing == 'a'" }] }),
    tried({ validations: [{ expression: "namespaceObject.spec.replicas == 1" }] }),
    tried({ validations: [{ expression: "variables.a" }] }),
    tried({ validations: [{ expression: "1 == 'a'" }] }),
    tried({ validations: [{ ...FINE, messageExpression: "authorizer.group('')" }] }),
    tried({
      matchConditions: [{ name: "a", expression: "variables.a" }],
      variables: [{ name: "a", expression: "true" }],
    }),
    tried({
      variables: [
        { name: "b", expression: "variables.a" },
        { name: "a", expression: "1" },
      ],
    }),
    tried({ validations: [{ expression: "object.metadata.name.matches('(')" }] }),
  ),
  check(
    "PY-07",
    "a policy that is changed",
    post(POLICIES, policy({})),
    mergePatch(`${POLICIES}/<<ns>>-a`, { spec: { failurePolicy: "Perhaps" } }),
    mergePatch(`${POLICIES}/<<ns>>-a`, { spec: { failurePolicy: "Ignore" } }),
    mergePatch(`${POLICIES}/<<ns>>-a`, { spec: { matchConstraints: null } }),
    get(`${POLICIES}/<<ns>>-a`),
  ),
  check(
    "PY-08",
    "bindings",
    triedBinding({ policyName: "" }),
    triedBinding({ policyName: "A_b" }),
    triedBinding({ validationActions: [] }),
    triedBinding({ validationActions: ["Shout"] }),
    triedBinding({ validationActions: ["Deny", "Deny"] }),
    triedBinding({ validationActions: ["Deny", "Warn"] }),
    triedBinding({ validationActions: ["Audit", "Warn"] }),
    triedBinding({ paramRef: {} }),
    triedBinding({ paramRef: { name: "a" } }),
    triedBinding({ paramRef: { name: "a/b" } }),
    triedBinding({ paramRef: { name: "a", selector: {} } }),
    triedBinding({ paramRef: { selector: {}, parameterNotFoundAction: "Allow" } }),
    triedBinding({ paramRef: { name: "a", parameterNotFoundAction: "Maybe" } }),
    triedBinding({ paramRef: { selector: { matchLabels: { "a b": "c" } } } }),
    triedBinding({ matchResources: { matchPolicy: "Nearly" } }),
    triedBinding({ matchResources: { resourceRules: [{ ...RULE, operations: [] }] } }),
    triedBinding({ matchResources: {} }),
  ),
  check(
    "PY-09",
    "an expression that asks what the sender may do",
    tried({
      validations: [
        { expression: "authorizer.group('').resource('pods').check('create').allowed()" },
      ],
    }),
  ),
  check(
    "RT-01",
    "RuntimeClasses",
    triedClass({ handler: "" }),
    triedClass({ handler: undefined }),
    triedClass({ handler: "Run_C" }),
    triedClass({ handler: "a.b" }),
    triedClass({ handler: "a".repeat(64) }),
    triedClass({}, "Upper_Case"),
    triedClass({ overhead: {} }),
    triedClass({ overhead: { podFixed: { cpu: "-1" } } }),
    triedClass({ overhead: { podFixed: { cpu: "a lot" } } }),
    triedClass({ overhead: { podFixed: { robots: "1" } } }),
    triedClass({ overhead: { podFixed: { "a b/c": "1", memory: "1Gi" } } }),
    triedClass({ overhead: { podFixed: { "example.com/robots": "500m" } } }),
    triedClass({ scheduling: {} }),
    triedClass({ scheduling: { nodeSelector: { "a b": "c d" } } }),
    triedClass({ scheduling: { tolerations: [{ ...TOLERATION, value: "b" }] } }),
    triedClass({ scheduling: { tolerations: [{ ...TOLERATION, operator: "Near" }] } }),
    triedClass({ scheduling: { tolerations: [{ ...TOLERATION, effect: "Never" }] } }),
    triedClass({ scheduling: { tolerations: [{ operator: "Equal", value: "a" }] } }),
    triedClass({
      scheduling: { tolerations: [TOLERATION, { ...TOLERATION, tolerationSeconds: 5 }] },
    }),
    triedClass({ scheduling: { tolerations: [TOLERATION, TOLERATION] } }),
  ),
  check(
    "RT-02",
    "a RuntimeClass that is changed",
    post(CLASSES, {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name: "<<ns>>-a" },
      handler: "runc",
    }),
    mergePatch(`${CLASSES}/<<ns>>-a`, { handler: "kata" }),
    mergePatch(`${CLASSES}/<<ns>>-a`, { overhead: { podFixed: { cpu: "-1" } } }),
    mergePatch(`${CLASSES}/<<ns>>-a`, { metadata: { labels: { a: "b" } } }),
  ),
];
