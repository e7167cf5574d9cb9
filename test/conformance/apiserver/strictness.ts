/**
 * Checks of what a server must refuse or keep although a client means harm: rights by name, creating
 * without the right to create, tokens that are not good any more, keys that JavaScript inherits, bodies that
 * are no protobuf, objects that are too large, patches and expressions that would never end.
 * One file, though long: it is a list of independent checks, which the recorder and the test walk in this order.
 */
import {
  apply,
  type Check,
  check,
  del,
  get,
  jsonPatch,
  mergePatch,
  post,
  postRaw,
  put,
  type Step,
  strategicPatch,
} from "./check.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC = `/apis/${RBAC_GROUP}/v1`;
const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/<<ns>>/leases";
const ACCOUNTS = "/api/v1/namespaces/<<ns>>/serviceaccounts";
const PODS = "/api/v1/namespaces/<<ns>>/pods";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";
const HOOKS = "/apis/admissionregistration.k8s.io/v1";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PROTOBUF = "application/vnd.kubernetes.protobuf";

const map = (name: string, data?: object) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...(data === undefined ? {} : { data }),
});

const lease = (name: string) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  spec: {},
});

function as(user: string, step: Step): Step {
  return { ...step, headers: { ...step.headers, "impersonate-user": user } };
}

function withToken(token: string, step: Step): Step {
  return { ...step, headers: { ...step.headers, authorization: token } };
}

/** A role in the check's namespace, and one user who has it. */
function grant(user: string, ...rules: readonly object[]): readonly Step[] {
  return [
    post(`${RBAC}/namespaces/<<ns>>/roles`, {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: "Role",
      metadata: { name: user },
      rules,
    }),
    post(`${RBAC}/namespaces/<<ns>>/rolebindings`, {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: "RoleBinding",
      metadata: { name: user },
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: user },
      subjects: [{ apiGroup: RBAC_GROUP, kind: "User", name: user }],
    }),
  ];
}

const NAMED = { apiGroups: [""], resources: ["configmaps"], resourceNames: ["mine"], verbs: ["*"] };

function tokenRequest(spec: object, as = "asked", account = "default"): Step {
  return post(
    `${ACCOUNTS}/${account}/token`,
    { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec },
    { as },
  );
}

const whoAmI = (): Step =>
  post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  });

function review(token: string, audiences?: readonly string[]): Step {
  return post("/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token, ...(audiences === undefined ? {} : { audiences }) },
  });
}

const pod = (name: string, spec: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: { automountServiceAccountToken: false, containers: [{ name: "c", image: "x" }], ...spec },
});

const deployment = (name: string, container: object, metadata: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, ...metadata },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: "a" } },
    template: {
      metadata: { labels: { app: "a" } },
      spec: { containers: [{ name: "c", image: "x", ...container }] },
    },
  },
});

/** The label of an object by which a check finds out whether its webhooks are known already. */
const PROBE = { probe: "yes" };

/** What webhooks of a check are asked about. */
interface Target {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly path: string;
  readonly probe: object;
}

const CONFIG_MAPS: Target = {
  apiGroups: [""],
  apiVersions: ["v1"],
  resources: ["configmaps"],
  path: MAPS,
  probe: { ...map("probe"), metadata: { name: "probe", labels: PROBE } },
};

const pool = (name: string, labels?: object) => ({
  apiVersion: "karpenter.sh/v1",
  kind: "NodePool",
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: "karpenter.k8s.aws", kind: "EC2NodeClass", name: "default" },
        requirements: [],
      },
    },
  },
});

const POOLS: Target = {
  apiGroups: ["karpenter.sh"],
  apiVersions: ["v1"],
  resources: ["nodepools"],
  path: "/apis/karpenter.sh/v1/nodepools",
  probe: pool("check-sj-probe", PROBE),
};

function webhook(does: string, operation: string, target: Target, objectSelector: object): object {
  const { apiGroups, apiVersions, resources } = target;
  return {
    name: `${does}.check.example.com`,
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    clientConfig: { url: `<<webhooks.url>>/${does}`, caBundle: "<<webhooks.caBundle>>" },
    namespaceSelector:
      target === CONFIG_MAPS ? { matchLabels: { "kubernetes.io/metadata.name": "<<ns>>" } } : {},
    objectSelector,
    rules: [{ apiGroups, apiVersions, resources, operations: [operation] }],
  };
}

/** An object is written while a webhook changes it in one way. */
function changed(
  does: string,
  step: Step,
  operation = "CREATE",
  target = CONFIG_MAPS,
): readonly Step[] {
  const others = { matchExpressions: [{ key: "probe", operator: "DoesNotExist" }] };
  const configuration = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: { name: "check-sj" },
    webhooks: [
      webhook(does, operation, target, others),
      webhook("deny", "CREATE", target, { matchLabels: PROBE }),
    ],
  };
  return [
    post(`${HOOKS}/mutatingwebhookconfigurations`, configuration),
    post(`${target.path}?dryRun=All`, target.probe, { until: 400 }),
    step,
    del(`${HOOKS}/mutatingwebhookconfigurations/check-sj`),
    post(`${target.path}?dryRun=All`, target.probe, { until: 201 }),
  ];
}

const JSON_TYPE = { "content-type": "application/json" };
/** Bodies with keys that no object literal can have. */
const text = (
  method: "POST" | "PUT" | "PATCH",
  path: string,
  body: string,
  type?: string,
): Step => ({
  method,
  path,
  raw: Buffer.from(body).toString("base64"),
  headers: type === undefined ? JSON_TYPE : { "content-type": type },
});

const MAGIC = [0x6b, 0x38, 0x73, 0x00];
/** One field of a message: bytes or a message. */
const field = (number: number, bytes: readonly number[]): readonly number[] => [
  (number << 3) | 2,
  bytes.length,
  ...bytes,
];
const chars = (value: string): readonly number[] => [...Buffer.from(value)];
/** What Kubernetes wraps every message in. */
const wrapped = (apiVersion: string, kind: string, raw: readonly number[]): Uint8Array =>
  Uint8Array.from([
    ...MAGIC,
    ...field(1, [...field(1, chars(apiVersion)), ...field(2, chars(kind))]),
    ...field(2, raw),
  ]);

function definition(name: string, spec: object): object {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${name}s.strict.example.com` },
    spec: {
      group: "strict.example.com",
      scope: "Namespaced",
      names: {
        plural: `${name}s`,
        singular: name,
        kind: `${name[0]?.toUpperCase()}${name.slice(1)}`,
      },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        },
      ],
    },
  };
}

const CUSTOM = "/apis/strict.example.com/v1/namespaces/<<ns>>";
const custom = (kind: string, name: string, spec: object) => ({
  apiVersion: "strict.example.com/v1",
  kind,
  metadata: { name },
  spec,
});
const OPEN = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const COSTLY_RULE = {
  rule: "TEN.all(a, TEN.all(b, TEN.all(c, TEN.all(d, self >= 0))))".replaceAll(
    "TEN",
    "[0,1,2,3,4,5,6,7,8,9]",
  ),
};
/** Each item costs about 100,000 units. */
const COSTLY_ITEMS = {
  type: "array",
  maxItems: 100,
  items: { type: "integer", "x-kubernetes-validations": [COSTLY_RULE, COSTLY_RULE] },
};
/** More bytes than a ConfigMap or a Secret may hold. */
const MANY = 1_050_000;

export const STRICTNESS_CHECKS: readonly Check[] = [
  check(
    "SJ-01",
    "a right to one name creates nothing and deletes no collection",
    ...grant("named", NAMED),
    { ...as("named", get(`${MAPS}/mine`)), until: 404 },
    as("named", post(MAPS, map("mine"))),
    as("named", post(`${MAPS}?fieldSelector=metadata.name%3Dmine`, map("mine"))),
    as("named", get(`${MAPS}?fieldSelector=metadata.name%3Dmine`)),
    as("named", get(`${MAPS}?fieldSelector=metadata.name%3D%3Dmine`)),
    as("named", get(`${MAPS}?fieldSelector=metadata.name%21%3Dx%2Cmetadata.name%3Dmine`)),
    as("named", get(`${MAPS}?fieldSelector=metadata.name%3Dmine%2Cmetadata.name%3Dother`)),
    as("named", get(`${MAPS}?fieldSelector=metadata.namespace%3Dx%5C%2Cmetadata.name%3Dmine`)),
    as("named", get(`${MAPS}?fieldSelector=metadata.name%3Dother`)),
    as("named", get(MAPS)),
    as("named", del(`${MAPS}?fieldSelector=metadata.name%3Dmine`)),
    as("named", del(MAPS)),
    as("named", del(`${MAPS}/mine`)),
  ),
  check(
    "SJ-02",
    "applying and updating what is not there needs the right to create",
    ...grant(
      "changer",
      { apiGroups: [""], resources: ["configmaps"], verbs: ["patch", "update", "get"] },
      {
        apiGroups: ["coordination.k8s.io"],
        resources: ["leases"],
        verbs: ["patch", "update", "get"],
      },
    ),
    { ...as("changer", get(`${MAPS}/a`)), until: 404 },
    as("changer", apply(`${MAPS}/a?fieldManager=x`, map("a"))),
    as("changer", put(`${MAPS}/a`, map("a"))),
    as("changer", mergePatch(`${MAPS}/a`, { data: { a: "b" } })),
    as("changer", put(`${LEASES}/a`, lease("a"))),
    as("changer", apply(`${LEASES}/a?fieldManager=x`, lease("a"))),
    post(MAPS, map("a")),
    as("changer", apply(`${MAPS}/a?fieldManager=x`, map("a", { k: "v" }))),
    put(`${LEASES}/a`, lease("a")),
    put(`${LEASES}/b?dryRun=All`, lease("b")),
    get(`${LEASES}/b`),
    put(`${LEASES}/c`, { ...lease("c"), spec: { leaseDurationSeconds: -1 } }),
    put(`${LEASES}/d`, { ...lease("d"), metadata: { name: "d", resourceVersion: "5" } }),
    put(`${LEASES}/d`, {
      ...lease("d"),
      metadata: { name: "d", uid: "11111111-1111-1111-1111-111111111111" },
    }),
    as("changer", put(`${LEASES}/a`, { ...lease("a"), spec: { leaseDurationSeconds: 5 } })),
    put(`${RBAC}/namespaces/<<ns>>/roles/made`, {
      apiVersion: `${RBAC_GROUP}/v1`,
      kind: "Role",
      metadata: { name: "made" },
      rules: [],
    }),
    put("/api/v1/namespaces/<<ns>>/services/made", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "made" },
      spec: { ports: [{ port: 80 }] },
    }),
    put("/api/v1/namespaces/<<ns>>/limitranges/made", {
      apiVersion: "v1",
      kind: "LimitRange",
      metadata: { name: "made" },
      spec: { limits: [{ type: "Pod", max: { cpu: "1" } }] },
    }),
  ),
  check(
    "SJ-03",
    "tokens: for another audience, of objects that are gone, and without a scheme",
    tokenRequest({}),
    withToken("Bearer <<asked.status.token>>", whoAmI()),
    withToken("bearer <<asked.status.token>>", whoAmI()),
    withToken("<<asked.status.token>>", whoAmI()),
    withToken("Basic <<asked.status.token>>", whoAmI()),
    withToken("Bearer<<asked.status.token>>", whoAmI()),
    withToken("Bearer  <<asked.status.token>>", whoAmI()),
    withToken("Bearer nonsense", whoAmI()),
    withToken("Bearer ", get("/api/v1/secrets")),
    tokenRequest({ audiences: ["vault"] }, "vault"),
    withToken("Bearer <<vault.status.token>>", whoAmI()),
    review("<<vault.status.token>>"),
    review("<<vault.status.token>>", ["vault", "other"]),
    review("<<vault.status.token>>", ["other"]),
    post(PODS, pod("bound"), { as: "bound" }),
    tokenRequest({ boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "bound" } }, "of"),
    tokenRequest({
      boundObjectRef: {
        apiVersion: "v1",
        kind: "Pod",
        name: "bound",
        uid: "11111111-1111-1111-1111-111111111111",
      },
    }),
    withToken("Bearer <<of.status.token>>", whoAmI()),
    review("<<of.status.token>>"),
    del(`${PODS}/bound?gracePeriodSeconds=0`),
    { ...withToken("Bearer <<of.status.token>>", whoAmI()), until: 401 },
    { ...review("<<of.status.token>>"), untilText: "invalidated" },
    post(PODS, pod("bound")),
    withToken("Bearer <<of.status.token>>", whoAmI()),
    post("/api/v1/namespaces/<<ns>>/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "key" },
    }),
    tokenRequest({ boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "key" } }, "by"),
    withToken("Bearer <<by.status.token>>", whoAmI()),
    del("/api/v1/namespaces/<<ns>>/secrets/key"),
    { ...withToken("Bearer <<by.status.token>>", whoAmI()), until: 401 },
    post(ACCOUNTS, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "gone" } }),
    tokenRequest({}, "gone", "gone"),
    withToken("Bearer <<gone.status.token>>", whoAmI()),
    del(`${ACCOUNTS}/gone`),
    { ...withToken("Bearer <<gone.status.token>>", whoAmI()), until: 401 },
    post(ACCOUNTS, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "gone" } }),
    withToken("Bearer <<gone.status.token>>", whoAmI()),
  ),
  check(
    "SJ-04",
    "a webhook that makes another object of an object",
    ...["rename", "move", "kind", "no-kind", "version", "empty"].flatMap((does) =>
      changed(does, post(MAPS, map(`by-${does}`))),
    ),
    get(`${MAPS}/other`),
    post(MAPS, map("there")),
    ...["rename", "move", "kind", "version"].flatMap((does) =>
      changed(does, mergePatch(`${MAPS}/there`, { data: { by: does } }), "UPDATE"),
    ),
    ...["prototype", "into-prototype", "copies", "bad-type", "no-metadata"].flatMap((does) =>
      changed(does, post(MAPS, map(`by-${does}`))),
    ),
    ...["rename", "kind", "version", "empty", "no-metadata"].flatMap((does) =>
      changed(does, post(POOLS.path, pool(`check-sj-${does}`)), "CREATE", POOLS),
    ),
    del(`${POOLS.path}/other`),
  ),
  check(
    "SJ-10",
    "webhooks whose answers have the wrong shape",
    ...[
      "bad-warnings",
      "bad-code",
      "code-100",
      "code-600",
      "no-version",
      "no-response",
      "patch-without-type",
      "type-without-patch",
    ].flatMap((does) => changed(does, post(MAPS, map(`by-${does}`)))),
  ),
  check(
    "SJ-05",
    "keys that JavaScript inherits are keys like others",
    text(
      "POST",
      MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"k","annotations":{"constructor":"a","toString":"b"}},"data":{"__proto__":"a","constructor":"b","hasOwnProperty":"c","ok":"d"}}',
    ),
    get(`${MAPS}/k`),
    text("POST", MAPS, '{"metadata":{"name":"l","labels":{"__proto__":"y"}}}'),
    text(
      "POST",
      MAPS,
      '{"__proto__":{"metadata":{"name":"m"}},"kind":"ConfigMap","apiVersion":"v1"}',
    ),
    text(
      "POST",
      `${MAPS}?fieldValidation=Strict`,
      '{"metadata":{"name":"m","__proto__":{"labels":{"a":"b"}}},"constructor":{"a":1}}',
    ),
    text("PATCH", `${MAPS}/k`, '{"data":{"__proto__":"e"}}', "application/merge-patch+json"),
    text(
      "PATCH",
      `${MAPS}/k`,
      '{"data":{"__proto__":"f","toString":"g"}}',
      "application/strategic-merge-patch+json",
    ),
    text(
      "PATCH",
      `${MAPS}/k`,
      '[{"op":"replace","path":"/data/__proto__","value":"h"},{"op":"add","path":"/data/valueOf","value":"i"}]',
      "application/json-patch+json",
    ),
    text(
      "PATCH",
      `${MAPS}/k`,
      '[{"op":"add","path":"/__proto__/polluted","value":"i"}]',
      "application/json-patch+json",
    ),
    text(
      "PATCH",
      `${MAPS}/k`,
      '[{"op":"add","path":"/constructor/prototype/polluted","value":"i"}]',
      "application/json-patch+json",
    ),
    text(
      "PATCH",
      `${MAPS}/k?fieldManager=q`,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"k"},"data":{"isPrototypeOf":"j","constructor":"b"}}',
      "application/apply-patch+yaml",
    ),
    text("PATCH", `${MAPS}/k`, '{"data":{"__proto__":null}}', "application/merge-patch+json"),
    get(`${MAPS}/k`),
  ),
  check(
    "SJ-06",
    "bodies that are no protobuf, or not what they say",
    postRaw(MAPS, PROTOBUF, Uint8Array.from([1, 2, 3])),
    postRaw(MAPS, PROTOBUF, Uint8Array.from(MAGIC)),
    postRaw(MAPS, PROTOBUF, Uint8Array.from([...MAGIC, 255, 255, 255])),
    postRaw(MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [255, 255])),
    postRaw(MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [0x0a, 0x7f, 1])),
    postRaw(MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [0x0b])),
    postRaw(MAPS, PROTOBUF, wrapped("v1", "Nothing", [])),
    postRaw(MAPS, PROTOBUF, wrapped("v1", "Secret", [])),
    postRaw(MAPS, PROTOBUF, wrapped("v1", "ConfigMap", [])),
    postRaw(MAPS, "application/json", "{"),
    postRaw(MAPS, "application/json", "[]"),
  ),
  check(
    "SJ-07",
    "objects that are too large",
    post(MAPS, map("big", { a: "x".repeat(MANY) })),
    post("/api/v1/namespaces/<<ns>>/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "big" },
      data: { a: "eHh4".repeat(MANY / 3) },
    }),
    post(MAPS, {
      ...map("big"),
      metadata: { name: "big", annotations: { a: "x".repeat(262_144) } },
    }),
    post(DEPLOYMENTS, deployment("big", { command: ["x".repeat(1_600_000)] })),
    post(DEPLOYMENTS, deployment("big", { command: ["x".repeat(2_200_000)] })),
    postRaw(
      DEPLOYMENTS,
      "application/json",
      JSON.stringify(deployment("big", { command: ["x".repeat(3_200_000)] })),
    ),
    post(DEPLOYMENTS, deployment("small", {})),
    jsonPatch(`${DEPLOYMENTS}/small`, [
      {
        op: "add",
        path: "/spec/template/spec/containers/0/command",
        value: ["x".repeat(1_600_000)],
      },
    ]),
    post(DEFINITIONS, definition("large", OPEN)),
    post(`${CUSTOM}/larges`, custom("Large", "big", { a: "x".repeat(1_600_000) }), { until: 500 }),
    del(`${DEFINITIONS}/larges.strict.example.com`),
  ),
  check(
    "SJ-08",
    "patches with too many operations or too much to copy",
    post(MAPS, map("p", { a: "x" })),
    jsonPatch(
      `${MAPS}/p`,
      Array.from({ length: 10_001 }, () => ({ op: "test", path: "/data/a", value: "x" })),
    ),
    jsonPatch(
      `${MAPS}/p`,
      Array.from({ length: 10_000 }, () => ({ op: "test", path: "/data/a", value: "x" })),
    ),
    jsonPatch(`${MAPS}/p`, [
      { op: "add", path: "/data", value: { a: "x" } },
      ...Array.from({ length: 26 }, (_, at) => ({
        op: "copy",
        from: "/data",
        path: `/data/k${at}`,
      })),
    ]),
    jsonPatch(`${MAPS}/p`, [
      { op: "add", path: "/data/b", value: "x".repeat(700_000) },
      ...Array.from({ length: 4 }, () => ({ op: "copy", from: "/data/b", path: "/data/c" })),
      { op: "remove", path: "/data/b" },
      { op: "remove", path: "/data/c" },
    ]),
    jsonPatch(`${MAPS}/p`, [
      { op: "add", path: "/data/b", value: "x".repeat(700_000) },
      ...Array.from({ length: 5 }, () => ({ op: "copy", from: "/data/b", path: "/data/c" })),
    ]),
    strategicPatch(`${MAPS}/p`, {
      metadata: {
        "$deleteFromPrimitiveList/finalizers": Array.from({ length: 1_000 }, (_, at) => `a/${at}`),
      },
    }),
  ),
  check(
    "SJ-09",
    "rules that cost too much when they run, and patterns that would never end",
    post(
      DEFINITIONS,
      definition("costly", {
        type: "object",
        properties: {
          l: {
            type: "array",
            maxItems: 100,
            items: { type: "integer" },
            "x-kubernetes-validations": [
              { rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))" },
            ],
          },
          a: COSTLY_ITEMS,
        },
      }),
    ),
    post(`${CUSTOM}/costlys`, custom("Costly", "few", { l: [1, 2, 3] }), { until: 201 }),
    post(
      `${CUSTOM}/costlys`,
      custom("Costly", "most", { l: Array.from({ length: 100 }, (_, at) => at) }),
    ),
    post(
      `${CUSTOM}/costlys`,
      custom("Costly", "all", { a: Array.from({ length: 100 }, (_, at) => at) }),
    ),
    del(`${DEFINITIONS}/costlys.strict.example.com`),
    ...[
      "(a+)+$",
      "(?=x)",
      "a{1000}{1000}",
      "((a{100}){100}){100}",
      "[",
      "(?P<n>a)\\1",
      "\\p{L}+",
    ].map((pattern) =>
      post(
        `${DEFINITIONS}?dryRun=All&pretty=false`,
        definition("pattern", {
          type: "object",
          properties: { s: { type: "string", pattern } },
        }),
      ),
    ),
  ),
];
