/** Checks of admission webhooks: what the server sends them, and which of their answers it obeys. */
import {
  apply,
  type Check,
  check,
  del,
  jsonPatch,
  mergePatch,
  post,
  put,
  type Step,
} from "./check.ts";

const HOOKS = "/apis/admissionregistration.k8s.io/v1";
const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";

const map = (name: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
});

const PODS = "/api/v1/namespaces/<<ns>>/pods";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";
const CONTAINERS = [{ name: "c", image: "x" }];

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: CONTAINERS },
});

const deployment = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: CONTAINERS } },
  },
});

function asJane(step: Step): Step {
  return {
    ...step,
    headers: {
      ...step.headers,
      "impersonate-user": "jane",
      "impersonate-uid": "7",
      "impersonate-group": "system:masters",
      "impersonate-extra-team": "blue",
    },
  };
}

interface Hook {
  readonly does: string;
  readonly operations?: readonly string[];
  readonly more?: object;
}

function configuration(kind: "Mutating" | "Validating", name: string, ...hooks: readonly Hook[]) {
  const webhooks = hooks.map(({ does, operations = ["CREATE"], more }, index) => ({
    name: `${does}-${index}.check.example.com`,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    clientConfig: { url: `<<webhooks.url>>/${does}`, caBundle: "<<webhooks.caBundle>>" },
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "<<ns>>" } },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations }],
    ...more,
  }));
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: `${kind}WebhookConfiguration`,
    metadata: { name },
    webhooks,
  };
}

function mutating(name: string, ...hooks: readonly Hook[]): Step {
  return post(`${HOOKS}/mutatingwebhookconfigurations`, configuration("Mutating", name, ...hooks));
}

function validating(name: string, ...hooks: readonly Hook[]): Step {
  const body = configuration("Validating", name, ...hooks);
  return post(`${HOOKS}/validatingwebhookconfigurations`, body);
}

/**
 * Creates a webhook that denies only objects with this name. Once it denies, all webhooks created before it are in
 * force.
 */
function inForce(name: string): readonly Step[] {
  const expression = `object.metadata.name == "${name}"`;
  return [
    validating(`${name}-in-force`, {
      does: "deny",
      more: { matchConditions: [{ name: "called-so", expression }] },
    }),
    // A new configuration takes effect with a delay: repeat until the webhook denies.
    post(`${MAPS}?dryRun=All`, map(name), { until: 400 }),
    del(`${HOOKS}/validatingwebhookconfigurations/${name}-in-force`),
  ];
}

const undo = (kind: "mutating" | "validating", name: string): Step =>
  del(`${HOOKS}/${kind}webhookconfigurations/${name}`);

export const WEBHOOK_CHECKS: readonly Check[] = [
  check(
    "WH-01",
    "what mutating webhooks change, one after the other, is nobody's but theirs",
    mutating("wh-01-a", { does: "label" }, { does: "follow" }),
    ...inForce("wh-01"),
    post(MAPS, map("a")),
    post(`${MAPS}?dryRun=All`, map("b", { labels: { own: "x" } })),
    mergePatch(`${MAPS}/a`, { data: { k: "v" } }),
    undo("mutating", "wh-01-a"),
  ),
  check(
    "WH-02",
    "a webhook refuses, with and without a reason",
    validating(
      "wh-02",
      { does: "deny", more: { objectSelector: { matchLabels: { deny: "plain" } } } },
      { does: "deny-because", more: { objectSelector: { matchLabels: { deny: "because" } } } },
      { does: "deny-reason", more: { objectSelector: { matchLabels: { deny: "reason" } } } },
      { does: "warn", more: { objectSelector: { matchLabels: { deny: "never" } } } },
    ),
    ...inForce("wh-02"),
    post(MAPS, map("a", { labels: { deny: "plain" } })),
    post(MAPS, map("a", { labels: { deny: "because" } })),
    post(MAPS, map("a", { labels: { deny: "reason" } })),
    post(MAPS, map("a", { labels: { deny: "never" } })),
    post(MAPS, map("b")),
    undo("validating", "wh-02"),
  ),
  check(
    "WH-03",
    "a webhook that is late, broken, gone or gives nonsense",
    ...["slow", "error", "garbage", "wrong-uid"].map((does) =>
      validating(`wh-03-${does}`, {
        does,
        more: { timeoutSeconds: 1, objectSelector: { matchLabels: { hook: does } } },
      }),
    ),
    validating("wh-03-gone", {
      does: "gone",
      more: {
        clientConfig: { url: "https://127.0.0.1:1/gone" },
        objectSelector: { matchLabels: { hook: "gone" } },
      },
    }),
    validating("wh-03-service", {
      does: "service",
      more: {
        clientConfig: { service: { namespace: "<<ns>>", name: "nobody" } },
        objectSelector: { matchLabels: { hook: "service" } },
      },
    }),
    ...inForce("wh-03"),
    post(MAPS, map("a", { labels: { hook: "slow" } })),
    post(MAPS, map("a", { labels: { hook: "error" } })),
    post(MAPS, map("a", { labels: { hook: "garbage" } })),
    post(MAPS, map("a", { labels: { hook: "wrong-uid" } })),
    post(MAPS, map("a", { labels: { hook: "gone" } })),
    post(MAPS, map("a", { labels: { hook: "service" } })),
    ...["slow", "error", "garbage", "wrong-uid", "gone", "service"].map((does) =>
      undo("validating", `wh-03-${does}`),
    ),
  ),
  check(
    "WH-04",
    "failures that are to be ignored",
    validating("wh-04", { does: "error", more: { failurePolicy: "Ignore" } }),
    mutating(
      "wh-04",
      { does: "garbage", more: { failurePolicy: "Ignore" } },
      { does: "label", more: { failurePolicy: "Ignore" } },
    ),
    ...inForce("wh-04"),
    post(MAPS, map("a")),
    undo("validating", "wh-04"),
    undo("mutating", "wh-04"),
  ),
  check(
    "WH-05",
    "patches that cannot be applied or change what may not change",
    mutating(
      "wh-05",
      { does: "bad-patch", more: { objectSelector: { matchLabels: { hook: "bad-patch" } } } },
      { does: "rename", more: { objectSelector: { matchLabels: { hook: "rename" } } } },
      { does: "unreadable", more: { objectSelector: { matchLabels: { hook: "unreadable" } } } },
    ),
    ...inForce("wh-05"),
    post(MAPS, map("a", { labels: { hook: "bad-patch" } })),
    post(MAPS, map("a", { labels: { hook: "rename" } })),
    post(MAPS, map("a", { labels: { hook: "unreadable" } })),
    undo("mutating", "wh-05"),
  ),
  check(
    "WH-06",
    "a webhook that asks to be called again when others changed something after it",
    mutating(
      "wh-06",
      { does: "count", more: { reinvocationPolicy: "IfNeeded" } },
      { does: "label" },
    ),
    ...inForce("wh-06"),
    post(MAPS, map("a")),
    undo("mutating", "wh-06"),
  ),
  check(
    "WH-07",
    "conditions decide whether a webhook is asked",
    validating(
      "wh-07",
      {
        does: "deny",
        operations: ["CREATE", "UPDATE", "DELETE"],
        more: {
          matchConditions: [
            { name: "big", expression: "has(object.data) && object.data.size == 'big'" },
            { name: "not-me", expression: "request.userInfo.username != 'nobody'" },
          ],
        },
      },
      {
        does: "deny",
        operations: ["DELETE"],
        more: {
          matchConditions: [{ name: "held", expression: "'held' in oldObject.metadata.labels" }],
        },
      },
    ),
    ...inForce("wh-07"),
    post(MAPS, { ...map("a"), data: { size: "big" } }),
    post(MAPS, { ...map("a", { labels: { held: "yes" } }), data: { size: "small" } }),
    mergePatch(`${MAPS}/a`, { data: { size: "big" } }),
    del(`${MAPS}/a`),
    undo("validating", "wh-07"),
  ),
  check(
    "WH-08",
    "updates, deletions and subresources by rule",
    validating(
      "wh-08",
      { does: "deny", operations: ["DELETE"] },
      { does: "deny-because", operations: ["UPDATE"] },
    ),
    ...inForce("wh-08"),
    post(MAPS, map("a")),
    put(`${MAPS}/a`, { ...map("a"), data: { k: "v" } }),
    jsonPatch(`${MAPS}/a`, [{ op: "add", path: "/data", value: { k: "v" } }]),
    del(`${MAPS}/a`),
    del(MAPS),
    undo("validating", "wh-08"),
    del(`${MAPS}/a`, undefined, { until: 200 }),
  ),
  check(
    "WH-09",
    "configurations that are refused",
    validating("wh-09", { does: "allow", more: { timeoutSeconds: 31 } }),
    validating("wh-09", { does: "allow", more: { sideEffects: "Some" } }),
    validating("wh-09", { does: "allow", more: { admissionReviewVersions: [] } }),
    validating("wh-09", { does: "allow", more: { failurePolicy: "Perhaps" } }),
    validating("wh-09", { does: "allow", more: { clientConfig: {} } }),
    validating("wh-09", { does: "allow", more: { clientConfig: { url: "http://127.0.0.1/x" } } }),
    validating("wh-09", { does: "allow", more: { name: "short" } }),
    validating("wh-09", {
      does: "allow",
      more: { matchConditions: [{ name: "c", expression: "object.nothing(" }] },
    }),
    validating("wh-09", { does: "allow", operations: ["LOOK"] }),
  ),
  check(
    "WH-10",
    "what a webhook is told of each kind of write",
    post(PODS, pod("told")),
    post(PODS, pod("bound")),
    post(DEPLOYMENTS, deployment("told")),
    post(MAPS, map("told")),
    validating("wh-10", {
      does: "tell",
      operations: ["CREATE", "UPDATE", "DELETE"],
      more: {
        rules: [
          {
            apiGroups: ["", "apps"],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE", "DELETE"],
            resources: [
              "configmaps",
              "pods/eviction",
              "pods/binding",
              "pods/status",
              "pods/ephemeralcontainers",
              "pods/resize",
              "deployments",
              "deployments/scale",
              "serviceaccounts/token",
            ],
          },
        ],
        matchConditions: [
          {
            name: "not-the-probe",
            expression: '!has(request.name) || request.name != "wh-10"',
          },
        ],
      },
    }),
    ...inForce("wh-10"),
    ...[
      post(`${MAPS}?fieldManager=me&fieldValidation=Strict&dryRun=All`, map("new")),
      post(MAPS, { ...map(""), metadata: { generateName: "made-" } }),
      mergePatch(`${MAPS}/told?fieldManager=me`, { data: { k: "v" } }),
      apply(`${MAPS}/told?fieldManager=me&force=true`, { ...map("told"), data: { k: "v" } }),
      apply(`${MAPS}/unborn?fieldManager=me`, { ...map("unborn"), data: { k: "v" } }),
      del(`${MAPS}/told`, { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 }),
      del(`${MAPS}/told?propagationPolicy=Orphan&dryRun=All`),
      del(`${MAPS}?labelSelector=nobody%3Dhere`),
      del(MAPS),
      post(`${PODS}/told/eviction`, {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: "told" },
      }),
      post(`${PODS}/bound/binding`, {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "bound" },
        target: { kind: "Node", name: "n" },
      }),
      mergePatch(`${PODS}/told/status`, { status: { phase: "Running" } }),
      mergePatch(`${DEPLOYMENTS}/told/scale`, { spec: { replicas: 3 } }),
      post("/api/v1/namespaces/<<ns>>/serviceaccounts/default/token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {},
      }),
    ].map(asJane),
    undo("validating", "wh-10"),
  ),
  check(
    "WH-11",
    "equivalent kinds: who asks for one version of a kind is asked about the other",
    validating("wh-11", {
      does: "tell",
      more: {
        rules: [
          {
            apiGroups: ["autoscaling"],
            apiVersions: ["v2"],
            operations: ["*"],
            resources: ["horizontalpodautoscalers"],
          },
          { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] },
        ],
        matchConditions: [{ name: "not-the-probe", expression: 'request.name != "wh-11"' }],
      },
    }),
    ...inForce("wh-11"),
    asJane(
      post("/apis/autoscaling/v1/namespaces/<<ns>>/horizontalpodautoscalers", {
        apiVersion: "autoscaling/v1",
        kind: "HorizontalPodAutoscaler",
        metadata: { name: "a" },
        spec: {
          maxReplicas: 3,
          targetCPUUtilizationPercentage: 50,
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
        },
      }),
    ),
    mergePatch("/api/v1/namespaces/<<ns>>", { metadata: { labels: { a: "b" } } }),
    undo("validating", "wh-11"),
  ),
  check(
    "WH-12",
    "mutating webhooks of evictions, of a status and of deletions",
    post(PODS, pod("a")),
    mutating("wh-12", {
      does: "label",
      more: {
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["*"],
            resources: ["configmaps", "pods/status", "pods/eviction"],
          },
        ],
      },
    }),
    ...inForce("wh-12"),
    mergePatch(`${PODS}/a/status`, { status: { phase: "Running" } }),
    post(MAPS, map("a")),
    mergePatch(`${MAPS}/a`, { metadata: { labels: { seen: "changed" } } }),
    apply(`${MAPS}/a?fieldManager=me`, { ...map("a"), data: { k: "v" } }),
    undo("mutating", "wh-12"),
  ),
  check(
    "WH-13",
    "who refuses deletions of pods is not asked when they are evicted",
    post(PODS, pod("kept")),
    post(PODS, pod("evicted")),
    validating("wh-13", {
      does: "deny",
      operations: ["CREATE", "DELETE"],
      more: {
        rules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE", "DELETE"],
            resources: ["configmaps", "pods"],
          },
        ],
      },
    }),
    ...inForce("wh-13"),
    del(`${PODS}/kept`),
    post(`${PODS}/evicted/eviction`, {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: "evicted" },
    }),
    undo("validating", "wh-13"),
  ),
];
