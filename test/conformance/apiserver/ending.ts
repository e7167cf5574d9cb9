/** How objects end: finalizers, owners, namespaces, eviction under budgets. */
import { type Check, check, del, get, jsonPatch, mergePatch, post, put } from "./check.ts";

const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const PODS = "/api/v1/namespaces/<<ns>>/pods";
const BUDGETS = "/apis/policy/v1/namespaces/<<ns>>/poddisruptionbudgets";

function map(name: string, metadata: object = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata } };
}

function child(name: string, owner: string, more: object = {}): object {
  const reference = {
    apiVersion: "v1",
    kind: "ConfigMap",
    name: owner,
    uid: `<<${owner}.metadata.uid>>`,
  };
  return map(name, { ownerReferences: [{ ...reference, ...more }] });
}

function options(propagationPolicy: string): object {
  return { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy };
}

function pod(name: string, app = "a"): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app } },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "x" }],
      nodeName: "n",
    },
  };
}

function runs(name: string, ready = "True") {
  return mergePatch(`${PODS}/${name}/status`, {
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready }] },
  });
}

function budget(spec: object): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "b" },
    spec: { selector: { matchLabels: { app: "a" } }, ...spec },
  };
}

/** The status that the disruption controller would write. */
function allowed(
  disruptionsAllowed: number,
  healthy: number,
  desired: number,
  observedGeneration = 1,
) {
  return mergePatch(`${BUDGETS}/b/status`, {
    status: {
      observedGeneration,
      disruptionsAllowed,
      currentHealthy: healthy,
      desiredHealthy: desired,
      expectedPods: healthy,
    },
  });
}

function evict(name: string, more: object = {}, query = "") {
  return post(`${PODS}/${name}/eviction${query}`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    ...more,
  });
}

export const ENDING_CHECKS: readonly Check[] = [
  check(
    "FI-01",
    "an object with finalizers waits for them",
    post(MAPS, map("a", { finalizers: ["x.example.com/1", "x.example.com/2"] })),
    del(`${MAPS}/a`),
    del(`${MAPS}/a`),
    mergePatch(`${MAPS}/a`, { metadata: { finalizers: ["x.example.com/1", "x.example.com/3"] } }),
    mergePatch(`${MAPS}/a`, { metadata: { finalizers: ["x.example.com/1"] } }),
    mergePatch(`${MAPS}/a`, { data: { still: "writable" } }),
    post(MAPS, map("a")),
    jsonPatch(`${MAPS}/a`, [{ op: "remove", path: "/metadata/finalizers" }]),
    get(`${MAPS}/a`),
  ),
  check(
    "FI-02",
    "background, foreground and orphan deletion",
    post(MAPS, map("bg"), { as: "bg" }),
    post(MAPS, child("bg-child", "bg")),
    del(`${MAPS}/bg`, options("Background")),
    get(`${MAPS}/bg-child`, { until: 404 }),
    post(MAPS, map("fg"), { as: "fg" }),
    post(MAPS, { ...child("fg-child", "fg", { blockOwnerDeletion: true }) }),
    mergePatch(`${MAPS}/fg-child`, { metadata: { finalizers: ["x.example.com/wait"] } }),
    del(`${MAPS}/fg`, options("Foreground")),
    get(`${MAPS}/fg-child`, { untilText: "deletionTimestamp" }),
    get(`${MAPS}/fg`),
    mergePatch(`${MAPS}/fg-child`, { metadata: { finalizers: null } }),
    get(`${MAPS}/fg`, { until: 404 }),
    post(MAPS, map("or"), { as: "or" }),
    post(MAPS, child("or-child", "or")),
    del(`${MAPS}/or`, options("Orphan")),
    get(`${MAPS}/or`, { until: 404 }),
    get(`${MAPS}/or-child`),
  ),
  check(
    "FI-03",
    "an owner that is not there any more",
    post(MAPS, map("gone"), { as: "gone" }),
    del(`${MAPS}/gone`),
    post(MAPS, child("late", "gone")),
    get(`${MAPS}/late`, { until: 404 }),
  ),
  check(
    "NS-01",
    "a namespace ends with all that is in it",
    post("/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "ns-01-x" },
    }),
    post("/api/v1/namespaces/ns-01-x/configmaps", map("a", { finalizers: ["x.example.com/1"] })),
    del("/api/v1/namespaces/ns-01-x"),
    get("/api/v1/namespaces/ns-01-x/configmaps/a", { untilText: "deletionTimestamp" }),
    post("/api/v1/namespaces/ns-01-x/configmaps", map("b")),
    mergePatch("/api/v1/namespaces/ns-01-x/configmaps/a", { metadata: { finalizers: null } }),
    get("/api/v1/namespaces/ns-01-x", { until: 404 }),
    del("/api/v1/namespaces/default"),
  ),
  check(
    "EV-01",
    "eviction without a budget, of nobody, dry and with preconditions",
    post(PODS, pod("a"), { as: "a" }),
    evict("nobody"),
    evict("a", {}, "?dryRun=All"),
    evict("a", {
      deleteOptions: { preconditions: { uid: "00000000-0000-0000-0000-000000000000" } },
    }),
    evict("a", { metadata: { name: "other" } }),
    evict("a", { deleteOptions: { gracePeriodSeconds: 5 } }),
    get(`${PODS}/a`),
  ),
  check(
    "EV-02",
    "eviction under a budget",
    post(PODS, pod("a")),
    post(PODS, pod("b")),
    runs("a"),
    runs("b"),
    post(BUDGETS, budget({ minAvailable: 1 })),
    evict("a"),
    allowed(1, 2, 1),
    evict("a"),
    get(`${BUDGETS}/b`),
    evict("b"),
    mergePatch(`${BUDGETS}/b`, { spec: { minAvailable: 0 } }),
    evict("b"),
  ),
  check(
    "EV-03",
    "pods that are not healthy, under each policy",
    post(PODS, pod("sick")),
    runs("sick", "False"),
    post(PODS, pod("new")),
    post(BUDGETS, budget({ maxUnavailable: 0 })),
    allowed(0, 1, 2),
    evict("sick"),
    evict("new"),
    mergePatch(`${BUDGETS}/b`, { spec: { unhealthyPodEvictionPolicy: "AlwaysAllow" } }),
    allowed(0, 1, 2, 2),
    evict("sick"),
  ),
  check(
    "EV-04",
    "two budgets for one pod; budgets that are refused",
    post(PODS, pod("a")),
    runs("a"),
    post(BUDGETS, budget({ minAvailable: 1 })),
    post(BUDGETS, { ...budget({ minAvailable: 1 }), metadata: { name: "c" } }),
    evict("a"),
    post(BUDGETS, { ...budget({ minAvailable: 1, maxUnavailable: 1 }), metadata: { name: "d" } }),
    post(BUDGETS, { ...budget({ minAvailable: -1 }), metadata: { name: "d" } }),
    post(BUDGETS, { ...budget({ maxUnavailable: "150%" }), metadata: { name: "d" } }),
    post(BUDGETS, { ...budget({ unhealthyPodEvictionPolicy: "Maybe" }), metadata: { name: "d" } }),
    put(`${BUDGETS}/b`, budget({ maxUnavailable: "50%" })),
  ),
  check(
    "FI-04",
    "options of deletions: the older word, both words, times of grace, of collections",
    post(MAPS, map("a"), { as: "a" }),
    post(MAPS, child("a-child", "a")),
    del(`${MAPS}/a?orphanDependents=true`),
    get(`${MAPS}/a`, { until: 404 }),
    get(`${MAPS}/a-child`),
    post(MAPS, map("b")),
    del(`${MAPS}/b`, { ...options("Orphan"), orphanDependents: true }),
    del(`${MAPS}/b?propagationPolicy=Sideways`),
    del(`${MAPS}/b?gracePeriodSeconds=-1`),
    del(`${MAPS}/b?gracePeriodSeconds=soon`),
    del(`${MAPS}/b`, { ...options("Background"), nonsense: true }),
    post(MAPS, map("c", { finalizers: ["x.example.com/1"] })),
    post(MAPS, map("d")),
    del(`${MAPS}?fieldSelector=metadata.name%3Dc`, options("Foreground")),
    get(`${MAPS}/c`, { untilNoText: "foregroundDeletion" }),
    del(MAPS, { ...options("Background"), preconditions: { uid: "u" } }),
    del(`${MAPS}?labelSelector=a%20in`),
    del(`${MAPS}?fieldSelector=data.k%3Dv`),
    del(MAPS),
    get(`${MAPS}/c`),
    mergePatch(`${MAPS}/c`, { metadata: { finalizers: null } }),
    get(`${MAPS}/c`, { until: 404 }),
    del("/api/v1/namespaces"),
    del("/api/v1/configmaps"),
    del("/api/v1/namespaces/<<ns>>/services?labelSelector=x"),
  ),
  check(
    "FI-05",
    "owners of another namespace, in two, and one that is going",
    post(MAPS, map("one"), { as: "one" }),
    post(MAPS, map("two", { finalizers: ["x.example.com/1"] }), { as: "two" }),
    post(
      MAPS,
      map("shared", {
        ownerReferences: ["one", "two"].map((name) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          name,
          uid: `<<${name}.metadata.uid>>`,
          blockOwnerDeletion: true,
        })),
      }),
    ),
    post(
      MAPS,
      map("controlled", {
        ownerReferences: ["one", "two"].map((name) => ({
          apiVersion: "v1",
          kind: "ConfigMap",
          name,
          uid: `<<${name}.metadata.uid>>`,
          controller: true,
        })),
      }),
    ),
    post(
      MAPS,
      map("nameless", { ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }] }),
    ),
    post(
      MAPS,
      map("evented", {
        ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "e", uid: "u" }],
      }),
    ),
    del(`${MAPS}/two`, options("Foreground")),
    get(`${MAPS}/shared`, { untilNoText: "<<two.metadata.uid>>" }),
    get(`${MAPS}/two`, { untilNoText: "foregroundDeletion" }),
    del(`${MAPS}/one`, options("Background")),
    get(`${MAPS}/shared`, { until: 404 }),
    get(`${MAPS}/two`),
    mergePatch(`${MAPS}/two`, { metadata: { finalizers: null } }),
  ),
];
