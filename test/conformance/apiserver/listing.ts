/** Lists, pages, selectors and watches. */
import {
  AS_METADATA,
  AS_METADATA_LIST,
  AS_TABLE,
  type Check,
  check,
  del,
  get,
  mergePatch,
  post,
} from "./check.ts";

const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const PODS = "/api/v1/namespaces/<<ns>>/pods";

function map(name: string, labels: Record<string, string> = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels } };
}

function pod(name: string, nodeName?: string): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "x" }],
      ...(nodeName === undefined ? {} : { nodeName }),
    },
  };
}

const THREE = [
  post(MAPS, map("a", { tier: "web", stage: "test" }), { as: "a" }),
  post(MAPS, map("b", { tier: "db" }), { as: "b" }),
  post(MAPS, map("c", { tier: "web" }), { as: "c" }),
];

export const LIST_CHECKS: readonly Check[] = [
  check(
    "LI-01",
    "pages of a list",
    ...THREE,
    get(`${MAPS}?limit=2`, { as: "first" }),
    get(`${MAPS}?limit=2&continue=<<first.metadata.continue>>`),
    get(`${MAPS}?limit=3`),
    get(`${MAPS}?limit=1&labelSelector=tier%3Dweb`),
    get(`${MAPS}?limit=some`),
    get(`${MAPS}?continue=nonsense`),
    get(`${MAPS}?limit=2&continue=<<first.metadata.continue>>&resourceVersion=1`),
  ),
  check(
    "LI-02",
    "label selectors",
    ...THREE,
    get(`${MAPS}?labelSelector=tier%3Dweb`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?labelSelector=tier!%3Dweb`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?labelSelector=tier%20in%20(db,cache)`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?labelSelector=tier%20notin%20(db),stage`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?labelSelector=!stage`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?labelSelector=tier%20near%20db`),
    get(`${MAPS}?labelSelector=tier%3D%3D%3Dweb`),
    get(`${MAPS}?labelSelector=-x%3Dweb`),
  ),
  check(
    "LI-03",
    "field selectors",
    ...THREE,
    post(PODS, pod("free")),
    post(PODS, pod("placed", "li-03-node")),
    get(`${MAPS}?fieldSelector=metadata.name%3Db`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?fieldSelector=metadata.name!%3Db`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?fieldSelector=data.k%3Db`),
    get(`${MAPS}?fieldSelector=nonsense`),
    get(`${PODS}?fieldSelector=spec.nodeName%3Dli-03-node`, { headers: AS_METADATA_LIST }),
    get(`${PODS}?fieldSelector=status.phase%3DPending,spec.nodeName%3D`, {
      headers: AS_METADATA_LIST,
    }),
    get(`${PODS}?fieldSelector=spec.image%3Dx`),
    get(`/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue`, { headers: AS_METADATA_LIST }),
  ),
  check(
    "LI-04",
    "versions of lists",
    ...THREE,
    get(`${MAPS}?resourceVersion=0`),
    get(`${MAPS}?resourceVersionMatch=Exact`),
    get(`${MAPS}?resourceVersion=0&resourceVersionMatch=Exact`),
    get(`${MAPS}?resourceVersion=<<a.metadata.resourceVersion>>&resourceVersionMatch=Exact`),
    get(`${MAPS}?resourceVersion=<<c.metadata.resourceVersion>>&resourceVersionMatch=NotOlderThan`),
    get(`${MAPS}?resourceVersion=1&resourceVersionMatch=Roughly`),
    get(`${MAPS}?resourceVersion=abc`),
    get(`${MAPS}/a?resourceVersion=abc`),
    get(`${MAPS}?timeoutSeconds=soon`),
  ),
  check(
    "LI-06",
    "a version that is not there yet",
    get(`${MAPS}?resourceVersion=999999999`),
    get(`${MAPS}/a?resourceVersion=999999999`),
    get(`${MAPS}?watch=true&timeoutSeconds=1&resourceVersion=999999999`),
  ),
  check(
    "LI-05",
    "tables and metadata of lists",
    ...THREE,
    get(MAPS, { headers: AS_TABLE }),
    get(`${MAPS}?includeObject=None`, { headers: AS_TABLE }),
    get(`${MAPS}?includeObject=Object&limit=1`, { headers: AS_TABLE }),
    get(MAPS, { headers: { accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io" } }),
    get("/api/v1/namespaces/<<ns>>", { headers: AS_TABLE }),
  ),
  check(
    "WA-01",
    "a watch from a version on",
    ...THREE,
    mergePatch(`${MAPS}/b`, { metadata: { labels: { tier: "web" } } }),
    mergePatch(`${MAPS}/b`, { metadata: { labels: { tier: "db" } } }),
    del(`${MAPS}/c`),
    get(`${MAPS}?watch=true&timeoutSeconds=5&resourceVersion=<<a.metadata.resourceVersion>>`, {
      frames: 5,
    }),
    get(
      `${MAPS}?watch=true&timeoutSeconds=5&labelSelector=tier%3Dweb&resourceVersion=<<a.metadata.resourceVersion>>`,
      { frames: 4 },
    ),
    get(`${MAPS}?watch=true&timeoutSeconds=5&fieldSelector=metadata.name%3Da`, { frames: 1 }),
    get(`${MAPS}?watch=true&timeoutSeconds=5&resourceVersion=<<a.metadata.resourceVersion>>`, {
      frames: 2,
      headers: AS_TABLE,
    }),
  ),
  check(
    "WA-02",
    "the initial state as events",
    ...THREE,
    get(
      `${MAPS}?watch=true&timeoutSeconds=5&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
      { frames: 4 },
    ),
    get(`${MAPS}?watch=true&sendInitialEvents=true`),
    get(`${MAPS}?watch=true&resourceVersion=abc`),
    get(`${MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=Exact`),
    get(`${MAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan`),
  ),
  check(
    "LI-07",
    "pages and versions together",
    ...THREE,
    get(`${MAPS}?limit=1&labelSelector=tier%3Dweb`, { as: "page" }),
    get(`${MAPS}?limit=1&continue=<<page.metadata.continue>>&labelSelector=tier%3Dweb`),
    get(`${MAPS}?limit=1&continue=<<page.metadata.continue>>&resourceVersion=5`),
    get(`${MAPS}?continue=<<page.metadata.continue>>&resourceVersionMatch=Exact`),
    get(
      `${MAPS}?limit=1&resourceVersion=<<b.metadata.resourceVersion>>&resourceVersionMatch=Exact`,
      { as: "then" },
    ),
    del(`${MAPS}/b`),
    get(`${MAPS}?limit=5&continue=<<then.metadata.continue>>`),
    get(`${MAPS}?resourceVersion=<<b.metadata.resourceVersion>>&resourceVersionMatch=Exact`),
    get(`${MAPS}?limit=-1`),
    get(`${MAPS}?limit=many`),
  ),
  check(
    "WA-03",
    "a version that nobody remembers",
    ...THREE,
    get(`${MAPS}?watch=true&resourceVersion=1`, { frames: 1 }),
    get(`${MAPS}?watch=true&timeoutSeconds=5&resourceVersion=0`, { frames: 3 }),
    get(`${MAPS}?watch=true&timeoutSeconds=1&resourceVersion=<<c.metadata.resourceVersion>>`, {
      frames: 1,
    }),
  ),
  check(
    "LI-08",
    "label selectors that cannot be read, and some that can",
    post(MAPS, map("a", { tier: "web", size: "7" })),
    ...[
      "a,",
      ",a",
      "a in",
      "a in b",
      "a in (",
      "a in (b",
      "a in (b c)",
      "a in (b=c)",
      "a=b c",
      "a=-b",
      "a in (-b)",
      "a>x",
      "!a=b",
      "a!b",
      "(a",
      "a=(b)",
      "a/b/c",
      "!",
      "a notin ()",
      "tier in (,web)",
      "tier in (web,)",
      "tier==web,size>5",
      "size<5",
    ].map((text) =>
      get(`${MAPS}?labelSelector=${encodeURIComponent(text)}`, { headers: AS_METADATA_LIST }),
    ),
  ),
  check(
    "LI-09",
    "what the server has forgotten is gone for readers: 410",
    ...THREE,
    get(`${MAPS}?limit=1`, { as: "page" }),
    post(MAPS, map("b2"), { as: "later" }),
    get(`${MAPS}/a`, { forgets: true, until: 200 }),
    get(`${MAPS}?limit=1&continue=<<page.metadata.continue>>`, { as: "gone" }),
    get(`${MAPS}?continue=<<gone.metadata.continue>>`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?resourceVersion=<<a.metadata.resourceVersion>>&resourceVersionMatch=Exact`),
    get(
      `${MAPS}?resourceVersion=<<a.metadata.resourceVersion>>&resourceVersionMatch=NotOlderThan`,
      { headers: AS_METADATA_LIST },
    ),
    get(`${MAPS}?resourceVersion=<<a.metadata.resourceVersion>>`, { headers: AS_METADATA_LIST }),
    get(`${MAPS}?watch=true&timeoutSeconds=2&resourceVersion=<<a.metadata.resourceVersion>>`, {
      frames: 1,
    }),
    get(`${MAPS}?watch=true&timeoutSeconds=2&resourceVersion=0`, { frames: 4 }),
    get(
      `${MAPS}?watch=true&timeoutSeconds=2&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
      { frames: 5, headers: AS_METADATA },
    ),
  ),
  check(
    "WA-04",
    "a bookmark comes before a watch ends",
    ...THREE,
    get(`${MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=0`, {
      frames: 5,
    }),
    get(
      `${MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1&resourceVersion=<<c.metadata.resourceVersion>>`,
      { frames: 1, headers: AS_METADATA },
    ),
  ),
  check(
    "WA-05",
    "what a watcher sees of a pod's end, with and without grace",
    post(PODS, pod("quick"), { as: "quick" }),
    del(`${PODS}/quick?gracePeriodSeconds=0`),
    post(PODS, pod("slow", "wa-05-node")),
    del(`${PODS}/slow`),
    del(`${PODS}/slow?gracePeriodSeconds=0`),
    get(`${PODS}?watch=true&timeoutSeconds=1&resourceVersion=<<quick.metadata.resourceVersion>>`, {
      frames: 6,
    }),
  ),
  check(
    "WA-06",
    "a watch of metadata",
    ...THREE,
    mergePatch(`${MAPS}/b`, { data: { k: "new" } }),
    get(`${MAPS}?watch=true&timeoutSeconds=5&resourceVersion=<<a.metadata.resourceVersion>>`, {
      frames: 3,
      headers: AS_METADATA,
    }),
  ),
];
