/**
 * Admission policies in force, and what a RuntimeClass does to its pods. A real server learns of a new policy with
 * a delay, so the first request under it is repeated until the expected answer. Bindings apply to the check's own
 * namespace.
 */
import { type Check, check, del, mergePatch, post } from "./check.ts";
import { CONFIG_MAPS, configMap } from "./config-maps.ts";

const POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const PODS = "/api/v1/namespaces/<<ns>>/pods";
const CLASSES = "/apis/node.k8s.io/v1/runtimeclasses";

function policy(spec: object): object {
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE", "UPDATE"],
    resources: ["configmaps"],
  };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "<<ns>>-a" },
    spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
  };
}

function binding(spec: object): object {
  const matchLabels = { "kubernetes.io/metadata.name": "<<ns>>" };
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "<<ns>>-a" },
    spec: {
      policyName: "<<ns>>-a",
      validationActions: ["Deny"],
      matchResources: { namespaceSelector: { matchLabels } },
      ...spec,
    },
  };
}

/** A dry run: the answer only says whether the object would be admitted. */
const TRIED = `${CONFIG_MAPS}?dryRun=All`;

const GONE = [del(`${BINDINGS}/<<ns>>-a`), del(`${POLICIES}/<<ns>>-a`)];

function pod(name: string, spec: object): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "c", image: "busybox:1" }], ...spec },
  };
}

function runtimeClass(name: string, fields: object): object {
  return {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name },
    handler: "kata",
    ...fields,
  };
}

export const ENFORCEMENT_CHECKS: readonly Check[] = [
  check(
    "EN-01",
    "a policy denies, with variables, conditions, messages and reasons",
    post(
      POLICIES,
      policy({
        matchConditions: [{ name: "not-exempt", expression: "object.metadata.name != 'exempt'" }],
        variables: [{ name: "count", expression: "has(object.data) ? object.data.size() : 0" }],
        validations: [
          {
            expression: "variables.count < 2",
            messageExpression: "'has ' + string(variables.count) + ' keys'",
          },
          { expression: "object.metadata.name != 'plain'" },
          { expression: "object.metadata.name != 'told'", message: "not by that name" },
          { expression: "object.metadata.name != 'forbidden'", reason: "Forbidden" },
          { expression: "object.metadata.name != 'large'", reason: "RequestEntityTooLarge" },
        ],
      }),
    ),
    post(BINDINGS, binding({})),
    post(TRIED, configMap("two", { a: "1", b: "2" }), { until: 422 }),
    post(TRIED, configMap("exempt", { a: "1", b: "2" })),
    post(TRIED, configMap("plain")),
    post(TRIED, configMap("told")),
    post(TRIED, configMap("forbidden")),
    post(TRIED, configMap("large")),
    post(CONFIG_MAPS, configMap("small", { a: "1" })),
    mergePatch(`${CONFIG_MAPS}/small`, { data: { b: "2" } }),
    mergePatch(`${CONFIG_MAPS}/small`, { metadata: { labels: { a: "b" } } }),
    ...GONE,
  ),
  check(
    "EN-02",
    "a policy that only warns",
    post(
      POLICIES,
      policy({ validations: [{ expression: "!has(object.data)", message: "has data" }] }),
    ),
    post(BINDINGS, binding({ validationActions: ["Warn", "Audit"] })),
    // Once this second binding denies, the server also knows the first one.
    post(BINDINGS, {
      ...binding({ matchResources: { objectSelector: { matchLabels: { denied: "yes" } } } }),
      metadata: { name: "<<ns>>-b" },
    }),
    post(
      TRIED,
      {
        ...configMap("denied", { a: "1" }),
        metadata: { name: "denied", labels: { denied: "yes" } },
      },
      { until: 422 },
    ),
    post(TRIED, configMap("warned", { a: "1" })),
    post(TRIED, configMap("bare")),
    del(`${BINDINGS}/<<ns>>-b`),
    ...GONE,
  ),
  check(
    "EN-03",
    "parameters, and what becomes of it when there are none",
    post(
      POLICIES,
      policy({
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConditions: [{ name: "asked", expression: "object.metadata.name != 'limits'" }],
        validations: [
          {
            expression: "!has(object.data) || object.data.size() <= int(params.data.most)",
            messageExpression: "'at most ' + params.data.most",
          },
        ],
      }),
    ),
    post(
      BINDINGS,
      binding({
        paramRef: { name: "limits", namespace: "<<ns>>", parameterNotFoundAction: "Deny" },
      }),
    ),
    post(TRIED, configMap("early", { a: "1" }), { untilText: "policy" }),
    // The server looks for parameters before it judges conditions, so it refuses even the parameters themselves.
    post(CONFIG_MAPS, configMap("limits", { most: "1" })),
    post(TRIED, configMap("two", { a: "1", b: "2" })),
    post(TRIED, configMap("one", { a: "1" })),
    ...GONE,
  ),
  check(
    "EN-04",
    "an expression that fails denies, unless failures are ignored",
    post(POLICIES, policy({ validations: [{ expression: "object.data.a == 'b'" }] })),
    post(BINDINGS, binding({})),
    post(TRIED, configMap("bare"), { until: 422 }),
    post(TRIED, configMap("other", { a: "c" })),
    post(TRIED, configMap("good", { a: "b" })),
    mergePatch(`${POLICIES}/<<ns>>-a`, { spec: { failurePolicy: "Ignore" } }),
    post(TRIED, configMap("bare"), { until: 201 }),
    ...GONE,
  ),
  check(
    "EN-06",
    "a policy asks what the sender, or a service account, may do",
    post(
      POLICIES,
      policy({
        validations: [
          {
            expression:
              "object.metadata.name != 'sender' || !authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
            message: "the sender may",
          },
          {
            expression:
              "object.metadata.name != 'account' || authorizer.serviceAccount('default', 'nobody').group('apps').resource('deployments').subresource('scale').namespace('default').name('a').check('update').allowed()",
            message: "the account may not",
          },
          {
            expression:
              "object.metadata.name != 'about' || !authorizer.requestResource.check('delete').allowed()",
            message: "the sender may delete it",
          },
          {
            expression:
              "object.metadata.name != 'path' || authorizer.serviceAccount('default', 'nobody').path('/metrics').check('get').allowed()",
            message: "no path",
          },
          {
            expression:
              "object.metadata.name != 'version' || !authorizer.serviceAccount('default', 'nobody').path('/version').check('get').allowed()",
            message: "everybody may",
          },
          {
            expression:
              "object.metadata.name != 'empty' || authorizer.path('').check('get').allowed()",
          },
          {
            expression:
              "object.metadata.name != 'odd' || authorizer.serviceAccount('default', 'A_b').path('/a').check('get').allowed()",
          },
          {
            expression:
              "object.metadata.name != 'strange' || authorizer.serviceAccount('de.fault', 'a').path('/a').check('get').allowed()",
          },
          {
            expression:
              "object.metadata.name != 'reason' || authorizer.serviceAccount('default', 'nobody').group('').resource('pods').check('get').reason() != ''",
            message: "no reason",
          },
          {
            expression:
              "object.metadata.name != 'dear' || [1, 2, 3].all(i, authorizer.group('').resource('pods').check('get').allowed())",
          },
        ],
      }),
    ),
    post(BINDINGS, binding({})),
    post(TRIED, configMap("sender"), { until: 422 }),
    ...["account", "about", "path", "version", "empty", "odd", "strange", "reason", "dear"].map(
      (name) => post(TRIED, configMap(name)),
    ),
    ...GONE,
  ),
  check(
    "EN-05",
    "a RuntimeClass gives its pods overhead, a node selector and tolerations",
    post(PODS, pod("early", { runtimeClassName: "<<ns>>-nobody" })),
    post(
      CLASSES,
      runtimeClass("<<ns>>-a", {
        overhead: { podFixed: { cpu: "250m", memory: "120Mi" } },
        scheduling: {
          nodeSelector: { sandboxed: "true" },
          tolerations: [{ key: "sandboxed", operator: "Exists", effect: "NoSchedule" }],
        },
      }),
    ),
    post(`${PODS}?dryRun=All`, pod("a", { runtimeClassName: "<<ns>>-a" }), { until: 201 }),
    post(PODS, pod("selects", { runtimeClassName: "<<ns>>-a", nodeSelector: { disk: "fast" } })),
    post(
      PODS,
      pod("against", { runtimeClassName: "<<ns>>-a", nodeSelector: { sandboxed: "false" } }),
    ),
    post(PODS, pod("costs", { runtimeClassName: "<<ns>>-a", overhead: { cpu: "1" } })),
    post(PODS, pod("alone", { overhead: { cpu: "1" } })),
    post(
      PODS,
      pod("tolerates", {
        runtimeClassName: "<<ns>>-a",
        tolerations: [{ key: "sandboxed", operator: "Exists" }],
      }),
    ),
    del(`${CLASSES}/<<ns>>-a`),
  ),
];
