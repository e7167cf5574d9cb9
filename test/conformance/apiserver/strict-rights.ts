/** Checks of rights: by object name, create without the right to create, invalid tokens. */
import { apply, type Check, check, del, get, mergePatch, post, put, type Step } from "./check.ts";
import { CONFIG_MAPS, configMap } from "./config-maps.ts";

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC = `/apis/${RBAC_GROUP}/v1`;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/<<ns>>/leases";
const ACCOUNTS = "/api/v1/namespaces/<<ns>>/serviceaccounts";
const PODS = "/api/v1/namespaces/<<ns>>/pods";

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

export const RIGHTS_CHECKS: readonly Check[] = [
  check(
    "SJ-01",
    "a right to one name creates nothing and deletes no collection",
    ...grant("named", NAMED),
    { ...as("named", get(`${CONFIG_MAPS}/mine`)), until: 404 },
    as("named", post(CONFIG_MAPS, configMap("mine"))),
    as("named", post(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Dmine`, configMap("mine"))),
    as("named", get(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Dmine`)),
    as("named", get(`${CONFIG_MAPS}?fieldSelector=metadata.name%3D%3Dmine`)),
    as("named", get(`${CONFIG_MAPS}?fieldSelector=metadata.name%21%3Dx%2Cmetadata.name%3Dmine`)),
    as("named", get(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Dmine%2Cmetadata.name%3Dother`)),
    as(
      "named",
      get(`${CONFIG_MAPS}?fieldSelector=metadata.namespace%3Dx%5C%2Cmetadata.name%3Dmine`),
    ),
    as("named", get(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Dother`)),
    as("named", get(CONFIG_MAPS)),
    as("named", del(`${CONFIG_MAPS}?fieldSelector=metadata.name%3Dmine`)),
    as("named", del(CONFIG_MAPS)),
    as("named", del(`${CONFIG_MAPS}/mine`)),
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
    { ...as("changer", get(`${CONFIG_MAPS}/a`)), until: 404 },
    as("changer", apply(`${CONFIG_MAPS}/a?fieldManager=x`, configMap("a"))),
    as("changer", put(`${CONFIG_MAPS}/a`, configMap("a"))),
    as("changer", mergePatch(`${CONFIG_MAPS}/a`, { data: { a: "b" } })),
    as("changer", put(`${LEASES}/a`, lease("a"))),
    as("changer", apply(`${LEASES}/a?fieldManager=x`, lease("a"))),
    post(CONFIG_MAPS, configMap("a")),
    as("changer", apply(`${CONFIG_MAPS}/a?fieldManager=x`, configMap("a", { k: "v" }))),
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
];
