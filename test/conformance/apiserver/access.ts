/** Checks of rights: what roles allow, how refusals read, who may impersonate others, and reviews of access. */
import { apply, type Check, check, del, get, mergePatch, post, type Step } from "./check.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const RBAC_GROUP = "rbac.authorization.k8s.io";
const ROLES = `${RBAC}/namespaces/<<ns>>/roles`;
const ROLE_BINDINGS = `${RBAC}/namespaces/<<ns>>/rolebindings`;
const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1";

/** The step, made as another user by impersonation. */
function as(user: string, step: Step, groups?: string): Step {
  const headers = {
    ...step.headers,
    "impersonate-user": user,
    ...(groups === undefined ? {} : { "impersonate-group": groups }),
  };
  return { ...step, headers };
}

/** The step as another user, with every header of impersonation. */
function asMore(user: string, step: Step): Step {
  const headers = {
    "impersonate-user": user,
    "impersonate-uid": "7",
    "impersonate-extra-team": "blue",
    ...step.headers,
  };
  return { ...step, headers };
}

function role(kind: "Role" | "ClusterRole", name: string, ...rules: readonly object[]) {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind, metadata: { name }, rules };
}

function binding(
  kind: "RoleBinding" | "ClusterRoleBinding",
  name: string,
  [roleKind, roleName]: readonly [string, string],
  ...subjects: readonly object[]
) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: roleKind, name: roleName },
    subjects,
  };
}

const bind = (name: string, role: readonly [string, string], subject: object): Step =>
  post(ROLE_BINDINGS, binding("RoleBinding", name, role, subject));

const USER = { apiGroup: "rbac.authorization.k8s.io", kind: "User" };
const READ_MAPS = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] };
const SECRETS = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
const map = (name: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

function mayI(question: object): Step {
  return post(`${AUTHORIZATION}/selfsubjectaccessreviews`, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: question,
  });
}

export const ACCESS_CHECKS: readonly Check[] = [
  check(
    "AC-01",
    "a user without roles is refused by verb, resource and scope",
    as("jane", get(MAPS)),
    as("jane", get(`${MAPS}/a`)),
    as("jane", get(`${MAPS}?watch=true`)),
    as("jane", get("/api/v1/configmaps")),
    as("jane", post(MAPS, map("a"))),
    as("jane", del(`${MAPS}/a`)),
    as("jane", del(MAPS)),
    as("jane", get("/api/v1/nodes/n")),
    as("jane", get("/api/v1/nodes/n/status")),
    as("jane", get("/api/v1/namespaces/<<ns>>")),
    as("jane", post("/api/v1/namespaces/<<ns>>/pods/p/eviction", {})),
    as("jane", get("/apis/apps/v1/namespaces/<<ns>>/deployments/d/scale")),
    as("jane", get("/apis/karpenter.sh/v1/nodepools")),
    as("jane", get("/apis/karpenter.sh/v1/nodepools/p")),
    as("jane", get("/apis/nothing.example.com/v1/things")),
    as("jane", get("/metrics")),
    as("jane", get("/logs/x")),
  ),
  check(
    "AC-02",
    "a role opens what it names in its namespace, and nothing else",
    post(`${RBAC}/namespaces/<<ns>>/roles`, role("Role", "reader", READ_MAPS)),
    bind("reads", ["Role", "reader"], { ...USER, name: "rita" }),
    post(MAPS, map("seen")),
    { ...as("rita", get(`${MAPS}/seen`)), until: 200 },
    as("rita", get(MAPS)),
    as("rita", get("/api/v1/namespaces/default/configmaps")),
    as("rita", get("/api/v1/configmaps")),
    as("rita", post(MAPS, map("other"))),
    as("rita", get("/api/v1/namespaces/<<ns>>/secrets/s")),
  ),
  check(
    "AC-03",
    "a right by name is for that object, also when it is listed by its name",
    post(
      `${RBAC}/clusterroles`,
      role("ClusterRole", "check-ac-03", { ...READ_MAPS, resourceNames: ["one"] }),
    ),
    bind("one", ["ClusterRole", "check-ac-03"], {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "Group",
      name: "check-ac-03",
    }),
    post(MAPS, map("one")),
    { ...as("nina", get(`${MAPS}/one`), "check-ac-03"), until: 200 },
    as("nina", get(`${MAPS}/two`), "check-ac-03"),
    as("nina", get(`${MAPS}?fieldSelector=metadata.name%3Done`), "check-ac-03"),
    as("nina", get(MAPS), "check-ac-03"),
    as("nina", get(`${MAPS}/one`)),
    del(`${RBAC}/clusterroles/check-ac-03`),
  ),
  check(
    "AC-04",
    "a role for subresources is not one for the object",
    post(
      `${RBAC}/clusterroles`,
      role("ClusterRole", "check-ac-04", {
        apiGroups: ["*"],
        resources: ["pods/eviction", "*/scale"],
        verbs: ["*"],
      }),
    ),
    post(
      `${RBAC}/clusterrolebindings`,
      binding("ClusterRoleBinding", "check-ac-04", ["ClusterRole", "check-ac-04"], {
        kind: "ServiceAccount",
        name: "default",
        namespace: "<<ns>>",
      }),
    ),
    {
      ...as(
        "system:serviceaccount:<<ns>>:default",
        get("/apis/apps/v1/namespaces/<<ns>>/deployments/d/scale"),
      ),
      until: 404,
    },
    as(
      "system:serviceaccount:<<ns>>:default",
      get("/apis/apps/v1/namespaces/<<ns>>/deployments/d"),
    ),
    as("system:serviceaccount:<<ns>>:default", get("/api/v1/namespaces/<<ns>>/pods/p")),
    as("system:serviceaccount:<<ns>>:other", get("/apis/apps/v1/namespaces/x/deployments/d/scale")),
    del(`${RBAC}/clusterrolebindings/check-ac-04`),
    del(`${RBAC}/clusterroles/check-ac-04`),
  ),
  check(
    "AC-05",
    "the roles of every cluster: view, edit, admin, and what aggregates into them",
    ...["view", "edit", "admin"].map((name) =>
      bind(name, ["ClusterRole", name], { ...USER, name: `check-${name}` }),
    ),
    { ...as("check-admin", get(MAPS)), until: 200 },
    as("check-view", get("/apis/apps/v1/namespaces/<<ns>>/deployments")),
    as("check-view", get("/api/v1/namespaces/<<ns>>/secrets")),
    as("check-view", post(MAPS, map("v"))),
    as("check-edit", post(MAPS, map("e"))),
    as("check-edit", get(`${RBAC}/namespaces/<<ns>>/roles`)),
    as("check-admin", get(`${ROLE_BINDINGS}/view`)),
    as("check-admin", get("/api/v1/nodes")),
  ),
  check(
    "AC-06",
    "a binding to a role that is not there is said so",
    bind("lost", ["Role", "nothing"], { ...USER, name: "lost" }),
    { ...as("lost", get(MAPS)), untilText: "not found" },
  ),
  check(
    "AC-07",
    "may I: yes, no and why",
    mayI({ resourceAttributes: { verb: "get", resource: "pods", namespace: "<<ns>>" } }),
    as(
      "jane",
      mayI({ resourceAttributes: { verb: "get", resource: "pods", namespace: "<<ns>>" } }),
    ),
    as("jane", mayI({ nonResourceAttributes: { verb: "get", path: "/api" } })),
    as("jane", mayI({ nonResourceAttributes: { verb: "get", path: "/metrics" } })),
    mayI({}),
    post(`${AUTHORIZATION}/subjectaccessreviews`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: "somebody",
        groups: ["system:masters"],
        resourceAttributes: { verb: "delete", group: "karpenter.sh", resource: "nodeclaims" },
      },
    }),
    post(`${AUTHORIZATION}/subjectaccessreviews`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { resourceAttributes: { verb: "get", resource: "pods" } },
    }),
    post(`${AUTHORIZATION}/selfsubjectrulesreviews`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: "<<ns>>" },
    }),
    as(
      "jane",
      post(`${AUTHORIZATION}/selfsubjectrulesreviews`, {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: { namespace: "<<ns>>" },
      }),
    ),
    post(`${AUTHORIZATION}/selfsubjectrulesreviews`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: {},
    }),
  ),
  check(
    "AC-08",
    "who am I, also as somebody else",
    ...[
      as("jane", whoAmI()),
      as("jane", whoAmI(), "developers"),
      as("system:serviceaccount:<<ns>>:default", whoAmI()),
      as("system:anonymous", whoAmI()),
    ],
    as("system:anonymous", get("/api")),
    asMore("jane", whoAmI()),
    asMore("jane", as("rita", whoAmI())),
  ),
  check(
    "AC-09",
    "tokens: asked for, too short, of nobody, and looked up",
    post("/api/v1/namespaces/<<ns>>/serviceaccounts/default/token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 60 },
    }),
    post("/api/v1/namespaces/<<ns>>/serviceaccounts/nobody/token", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    }),
    post("/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "nonsense" },
    }),
  ),
  check(
    "AC-10",
    "nobody gives more than they have: roles",
    post(
      `${RBAC}/clusterroles`,
      role(
        "ClusterRole",
        "check-ac-10",
        { apiGroups: [RBAC_GROUP], resources: ["*"], verbs: ["get", "create", "update", "patch"] },
        READ_MAPS,
        { apiGroups: [""], resources: ["*/status"], verbs: ["get"] },
        { nonResourceURLs: ["/healthz/*"], verbs: ["get"] },
      ),
    ),
    post(
      `${RBAC}/clusterrolebindings`,
      binding("ClusterRoleBinding", "check-ac-10", ["ClusterRole", "check-ac-10"], {
        ...USER,
        name: "giver",
      }),
    ),
    { ...as("giver", get(`${RBAC}/clusterroles/check-ac-10`)), until: 200 },
    as("giver", post(ROLES, role("Role", "same", READ_MAPS))),
    as("giver", post(ROLES, role("Role", "named", { ...READ_MAPS, resourceNames: ["one"] }))),
    as("giver", post(ROLES, role("Role", "sub", statusOf("pods")))),
    as("giver", post(ROLES, role("Role", "sub-b", statusOf("pods", "nodes/proxy")))),
    as("giver", post(ROLES, role("Role", "more", { ...READ_MAPS, verbs: ["get", "delete"] }))),
    as("giver", post(ROLES, role("Role", "all", { ...READ_MAPS, verbs: ["*"] }))),
    as(
      "giver",
      post(
        ROLES,
        role(
          "Role",
          "many",
          { apiGroups: ["", "apps"], resources: ["pods", "configmaps"], verbs: ["get", "list"] },
          { apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: ["a", "b"] },
        ),
      ),
    ),
    as("giver", mergePatch(`${ROLES}/same`, { metadata: { labels: { a: "b" } } })),
    as("giver", mergePatch(`${ROLES}/same`, { rules: [{ ...READ_MAPS, apiGroups: ["*"] }] })),
    as(
      "giver",
      post(
        `${RBAC}/clusterroles`,
        role("ClusterRole", "check-ac-10-b", {
          nonResourceURLs: ["/healthz/a", "/metrics"],
          verbs: ["get", "post"],
        }),
      ),
    ),
    as(
      "giver",
      post(`${RBAC}/clusterroles`, {
        ...role("ClusterRole", "check-ac-10-b"),
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
      }),
    ),
    post(ROLES, role("Role", "higher", { ...READ_MAPS, verbs: ["*"] })),
    as("giver", mergePatch(`${ROLES}/higher`, { metadata: { finalizers: ["x.example.com/1"] } })),
    as("giver", mergePatch(`${ROLES}/higher`, { metadata: { labels: { a: "b" } } })),
    as("giver", apply(`${ROLES}/applied?fieldManager=giver`, role("Role", "applied", SECRETS))),
    del(`${RBAC}/clusterrolebindings/check-ac-10`),
    del(`${RBAC}/clusterroles/check-ac-10`),
  ),
  check(
    "AC-11",
    "nobody gives more than they have: bindings, and those who may escalate and bind",
    post(
      `${RBAC}/clusterroles`,
      role(
        "ClusterRole",
        "check-ac-11",
        { apiGroups: [RBAC_GROUP], resources: ["rolebindings"], verbs: ["create"] },
        { apiGroups: [RBAC_GROUP], resources: ["roles"], verbs: ["create", "escalate"] },
        {
          apiGroups: [RBAC_GROUP],
          resources: ["clusterroles"],
          verbs: ["bind"],
          resourceNames: ["view"],
        },
      ),
    ),
    bind("binder", ["ClusterRole", "check-ac-11"], { ...USER, name: "binder" }),
    post(ROLES, role("Role", "secrets", SECRETS)),
    { ...as("binder", post(ROLES, role("Role", "mine", SECRETS))), until: 201 },
    as("binder", bind("view", ["ClusterRole", "view"], { ...USER, name: "x" })),
    as("binder", bind("secrets", ["Role", "secrets"], { ...USER, name: "x" })),
    as("binder", bind("lost", ["Role", "nothing"], { ...USER, name: "x" })),
    as("binder", bind("lost", ["ClusterRole", "nothing"], { ...USER, name: "x" })),
    del(`${RBAC}/clusterroles/check-ac-11`),
  ),
  check(
    "AC-12",
    "roles and bindings that are refused",
    post(ROLES, role("Role", "r", { apiGroups: [""], resources: ["pods"], verbs: [] })),
    post(ROLES, role("Role", "r", { apiGroups: [""], verbs: ["get"] })),
    post(ROLES, role("Role", "r", { resources: ["pods"], verbs: ["get"] })),
    post(ROLES, role("Role", "r", { nonResourceURLs: ["/x"], verbs: ["get"] })),
    post(
      `${RBAC}/clusterroles`,
      role("ClusterRole", "r", { nonResourceURLs: ["/x"], resources: ["a"], verbs: ["get"] }),
    ),
    bind("b", ["Role", ""], { kind: "User", name: "u" }),
    bind("b", ["Something", "x"], { kind: "User", name: "u" }),
    bind("b", ["Role", "x"], { kind: "Animal", name: "u" }),
    bind("b", ["Role", "x"], { kind: "ServiceAccount", name: "Bad Name" }),
    post(
      `${RBAC}/clusterrolebindings`,
      binding("ClusterRoleBinding", "b", ["ClusterRole", "x"], {
        kind: "ServiceAccount",
        name: "sa",
      }),
    ),
    post(
      `${RBAC}/clusterrolebindings`,
      binding("ClusterRoleBinding", "b", ["Role", "x"], { kind: "User", name: "u" }),
    ),
    bind("b", ["Role", "x"], { kind: "User", name: "u" }),
    mergePatch(`${ROLE_BINDINGS}/b`, {
      roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: "y" },
    }),
  ),
  check(
    "AC-13",
    "questions about others, in a namespace and with selectors",
    post(`${AUTHORIZATION}/namespaces/<<ns>>/localsubjectaccessreviews`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "LocalSubjectAccessReview",
      metadata: { namespace: "<<ns>>" },
      spec: {
        user: "jane",
        resourceAttributes: { namespace: "<<ns>>", verb: "get", resource: "pods" },
      },
    }),
    post(`${AUTHORIZATION}/namespaces/<<ns>>/localsubjectaccessreviews`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "LocalSubjectAccessReview",
      metadata: { namespace: "<<ns>>" },
      spec: {
        user: "jane",
        resourceAttributes: { namespace: "default", verb: "get", resource: "pods" },
      },
    }),
    mayI({ resourceAttributes: { verb: "get", resource: "pods" }, nonResourceAttributes: {} }),
    mayI({
      resourceAttributes: { verb: "list", resource: "pods", fieldSelector: { rawSelector: "a=b" } },
    }),
    get(`${AUTHORIZATION}/selfsubjectaccessreviews`),
    post(`${AUTHORIZATION}/subjectaccessreviews?dryRun=All`, {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: { user: "jane", nonResourceAttributes: { path: "/metrics", verb: "get" } },
    }),
  ),
  check(
    "AC-14",
    "tokens: with audiences, bound to an object, dry, and used",
    ...[
      { audiences: ["vault", "other"], expirationSeconds: 700 },
      { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "nobody" } },
      { boundObjectRef: { kind: "ConfigMap", apiVersion: "v1", name: "a" } },
      { expirationSeconds: 8589934592 },
    ].map((spec) =>
      post("/api/v1/namespaces/<<ns>>/serviceaccounts/default/token", {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec,
      }),
    ),
    post("/api/v1/namespaces/<<ns>>/serviceaccounts/default/token?dryRun=All", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {},
    }),
    get("/api/v1/namespaces/<<ns>>/serviceaccounts/default/token"),
    post(
      "/api/v1/namespaces/<<ns>>/serviceaccounts/default/token",
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
      { as: "asked" },
    ),
    post("/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "<<asked.status.token>>" },
    }),
    post("/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: "<<asked.status.token>>", audiences: ["vault"] },
    }),
    post("/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: {},
    }),
  ),
  check(
    "AC-15",
    "groups, an id or more of nobody",
    get("/api/v1/namespaces", { headers: { "impersonate-group": "some" } }),
    get("/api/v1/namespaces", { headers: { "impersonate-uid": "7" } }),
    get("/api/v1/namespaces", { headers: { "impersonate-extra-team": "blue" } }),
  ),
];

/** A rule that allows only reading the status of these resources. */
function statusOf(...resources: readonly string[]): object {
  const named = resources.map((resource) =>
    resource.includes("/") ? resource : `${resource}/status`,
  );
  return { apiGroups: [""], resources: named, verbs: ["get"] };
}

function whoAmI(): Step {
  return post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  });
}
