/** Checks of rights: what roles allow, how refusals read, who may speak for others, and questions about rights. */
import { type Check, check, del, get, post, type Step } from "./check.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1";

/** The step as somebody else asks it. */
function as(user: string, step: Step, groups?: string): Step {
  const headers = {
    ...step.headers,
    "impersonate-user": user,
    ...(groups === undefined ? {} : { "impersonate-group": groups }),
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

const USER = { apiGroup: "rbac.authorization.k8s.io", kind: "User" };
const READ_MAPS = { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] };
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
    post(
      `${RBAC}/namespaces/<<ns>>/rolebindings`,
      binding("RoleBinding", "reads", ["Role", "reader"], { ...USER, name: "rita" }),
    ),
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
    post(
      `${RBAC}/namespaces/<<ns>>/rolebindings`,
      binding("RoleBinding", "one", ["ClusterRole", "check-ac-03"], {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "Group",
        name: "check-ac-03",
      }),
    ),
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
      post(
        `${RBAC}/namespaces/<<ns>>/rolebindings`,
        binding("RoleBinding", name, ["ClusterRole", name], { ...USER, name: `check-${name}` }),
      ),
    ),
    { ...as("check-admin", get(MAPS)), until: 200 },
    as("check-view", get("/apis/apps/v1/namespaces/<<ns>>/deployments")),
    as("check-view", get("/api/v1/namespaces/<<ns>>/secrets")),
    as("check-view", post(MAPS, map("v"))),
    as("check-edit", post(MAPS, map("e"))),
    as("check-edit", get(`${RBAC}/namespaces/<<ns>>/roles`)),
    as("check-admin", get(`${RBAC}/namespaces/<<ns>>/rolebindings/view`)),
    as("check-admin", get("/api/v1/nodes")),
  ),
  check(
    "AC-06",
    "a binding to a role that is not there is said so",
    post(
      `${RBAC}/namespaces/<<ns>>/rolebindings`,
      binding("RoleBinding", "lost", ["Role", "nothing"], { ...USER, name: "lost" }),
    ),
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
];

function whoAmI(): Step {
  return post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  });
}
