/** Server-side apply: who owns which field, conflicts, lists merged by key. */
import { apply, type Check, check, get, mergePatch, post, put, strategicPatch } from "./check.ts";

const MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";

function map(data?: unknown, metadata: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a", ...metadata },
    ...(data === undefined ? {} : { data }),
  };
}

function deployment(containers: readonly object[], more: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "a" },
    spec: {
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "a" } }, spec: { containers } },
      ...more,
    },
  };
}

/** The annotation in which kubectl notes what it applied. A string is used unchanged. */
function lastApplied(config: object | string): { readonly annotations: object } {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  return { annotations: { "kubectl.kubernetes.io/last-applied-configuration": text } };
}

export const APPLY_CHECKS: readonly Check[] = [
  check(
    "AP-01",
    "apply makes, changes, leaves alone and takes away",
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "v", l: "w" })),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "v", l: "w" })),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "x" })),
    get(`${MAPS}/a`),
  ),
  check(
    "AP-02",
    "a conflict, force, shared ownership, giving up",
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "1", shared: "s" })),
    apply(`${MAPS}/a?fieldManager=two`, map({ k: "2" })),
    apply(`${MAPS}/a?fieldManager=two`, map({ shared: "s" })),
    apply(`${MAPS}/a?fieldManager=two&force=true`, map({ k: "2", shared: "s" })),
    apply(`${MAPS}/a?fieldManager=one`, map({})),
    apply(`${MAPS}/a?fieldManager=two`, map({})),
  ),
  check(
    "AP-03",
    "apply meets fields of writers that do not apply",
    post(`${MAPS}?fieldManager=creator`, map({ k: "1", l: "1" })),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "2" })),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "1" })),
    apply(`${MAPS}/a?fieldManager=one&force=true`, map({ k: "2" })),
    mergePatch(`${MAPS}/a?fieldManager=patcher`, { data: { k: "3" } }),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "4" })),
    put(`${MAPS}/a?fieldManager=updater`, map({ only: "this" })),
  ),
  check(
    "AP-04",
    "applies that are refused",
    apply(`${MAPS}/a`, map({ k: "1" })),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "1" }, { managedFields: [{ manager: "x" }] })),
    apply(`${MAPS}/b?fieldManager=one`, map({ k: "1" })),
    apply(`${MAPS}/a?fieldManager=one`, { ...map(), apiVersion: "v2" }),
    apply(`${MAPS}/a?fieldManager=one`, { ...map(), kind: "Secret" }),
    apply(`${MAPS}/a?fieldManager=one`, { ...map(), sata: {} }),
    apply(`${MAPS}/a?fieldManager=one`, { metadata: { name: "a" } }),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: 5 })),
    apply(`${MAPS}/a?fieldManager=${"x".repeat(129)}`, map({ k: "1" })),
    mergePatch(`${MAPS}/a?force=true`, { data: {} }),
    apply(`${MAPS}/a?fieldManager=one`, map({}, { uid: "00000000-0000-0000-0000-000000000000" })),
    apply(`${MAPS}/a?fieldManager=one`, map({}, { resourceVersion: "1" })),
  ),
  check(
    "AP-05",
    "lists merged by key",
    apply(`${DEPLOYMENTS}/a?fieldManager=one`, deployment([{ name: "x", image: "x:1" }])),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=two`,
      deployment([{ name: "y", image: "y:1", ports: [{ containerPort: 80 }] }]),
    ),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=three`,
      deployment([{ name: "y", ports: [{ containerPort: 80, protocol: "UDP" }] }]),
    ),
    apply(`${DEPLOYMENTS}/a?fieldManager=two`, deployment([{ name: "x", image: "x:2" }])),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=two&force=true`,
      deployment([{ name: "x", image: "x:2" }]),
    ),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=one&force=true`,
      deployment([
        { name: "x", image: "x:3", env: [{ name: "E", value: "1" }] },
        { name: "x", image: "x:4" },
      ]),
    ),
    strategicPatch(`${DEPLOYMENTS}/a?fieldManager=four`, {
      spec: {
        template: { spec: { containers: [{ name: "x", env: [{ name: "F", value: "2" }] }] } },
      },
    }),
    strategicPatch(`${DEPLOYMENTS}/a?fieldManager=four`, {
      spec: { template: { spec: { containers: [{ name: "y", $patch: "delete" }] } } },
    }),
  ),
  check(
    "AP-06",
    "the status is applied through its own door",
    apply(
      `${DEPLOYMENTS}/a?fieldManager=one`,
      deployment([{ name: "x", image: "x:1" }], { replicas: 2 }),
    ),
    apply(`${DEPLOYMENTS}/a/status?fieldManager=controller`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a" },
      status: {
        replicas: 2,
        conditions: [{ type: "Available", status: "True", reason: "R", message: "m" }],
      },
    }),
    mergePatch(`${DEPLOYMENTS}/a/scale?fieldManager=scaler`, { spec: { replicas: 5 } }),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=one`,
      deployment([{ name: "x", image: "x:1" }], { replicas: 2 }),
    ),
    apply(`${DEPLOYMENTS}/a?fieldManager=one`, deployment([{ name: "x", image: "x:1" }])),
  ),
  check(
    "AP-07",
    "ownership can be thrown away and is kept otherwise",
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "1" })),
    mergePatch(`${MAPS}/a?fieldManager=two`, { metadata: { managedFields: [{}] } }),
    mergePatch(`${MAPS}/a?fieldManager=two`, { data: { l: "2" } }),
    apply(`${MAPS}/a?fieldManager=one&dryRun=All`, map({ k: "9" })),
    get(`${MAPS}/a`),
  ),
  check(
    "AP-08",
    "sets, lists as a whole, nothing as a value, and owners of finalizers",
    apply(`${MAPS}/a?fieldManager=one`, map({ k: null, l: "" }, { finalizers: ["x.com/1"] })),
    apply(`${MAPS}/a?fieldManager=two`, map({}, { finalizers: ["x.com/2", "x.com/1"] })),
    apply(`${MAPS}/a?fieldManager=one`, map({}, { finalizers: [] })),
    apply(`${MAPS}/a?fieldManager=two`, map({}, { finalizers: null, labels: null })),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=one`,
      deployment([{ name: "x", image: "x:1", args: ["a", "b"], command: null }]),
    ),
    apply(`${DEPLOYMENTS}/a?fieldManager=two`, deployment([{ name: "x", args: ["a", "c"] }])),
    apply(
      `${DEPLOYMENTS}/a?fieldManager=two&force=true`,
      deployment([{ name: "x", args: ["c"] }], { replicas: null }),
    ),
    apply(`${DEPLOYMENTS}/a?fieldManager=three`, deployment([{ image: "nameless" }])),
    apply(`${DEPLOYMENTS}/a?fieldManager=three&force=true`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a" },
      spec: { strategy: { type: "Recreate", rollingUpdate: null } },
    }),
    apply(`${DEPLOYMENTS}/a?fieldManager=four`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        name: "a",
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "u-1" }],
      },
    }),
    get(`${DEPLOYMENTS}/a`),
  ),
  check(
    "AP-09",
    "an object made by apply with a name that nobody may have, unknown fields, dry and strict",
    apply(`${MAPS}/Bad_Name?fieldManager=one`, { ...map({}), metadata: { name: "Bad_Name" } }),
    apply(`${MAPS}/a?fieldManager=one&fieldValidation=Strict`, { ...map({}), sata: {} }),
    apply(`${MAPS}/a?fieldManager=one&fieldValidation=Ignore`, { ...map({}), sata: {} }),
    apply(`${MAPS}/a?fieldManager=one&dryRun=All`, map({ k: "v" })),
    apply(`${MAPS}/a?fieldManager=one&force=perhaps`, map({ k: "v" })),
    apply(`/api/v1/namespaces/nowhere/configmaps/a?fieldManager=one`, map({ k: "v" })),
    apply(`${MAPS}/a?fieldManager=one`, [map({ k: "v" })]),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "v" }, { generateName: "a-" })),
    apply(`${MAPS}/a?fieldManager=one`, map({ k: "v" }, { namespace: "elsewhere" })),
    get(`${MAPS}/a`),
  ),
  check(
    "AP-10",
    "kubectl goes over from client-side to server-side apply",
    post(
      `${MAPS}?fieldManager=kubectl-client-side-apply`,
      map({ k: "1", l: "<1>" }, lastApplied(map({ k: "1", l: "<1>" }))),
    ),
    apply(`${MAPS}/a?fieldManager=other`, map({ k: "2" })),
    apply(`${MAPS}/a?fieldManager=kubectl`, map({ k: "2", l: "<2>" }, { labels: { a: "b" } })),
    mergePatch(`${MAPS}/a?fieldManager=patcher`, { data: { k: "3" } }),
    apply(`${MAPS}/a?fieldManager=kubectl`, map({ k: "4", l: "<4>" })),
    apply(`${MAPS}/a?fieldManager=other&force=true`, map({ k: "5" })),
    get(`${MAPS}/a`),
  ),
  check(
    "AP-11",
    "what kubectl last applied, in another version and in no JSON",
    post(`${MAPS}?fieldManager=before`, map({ k: "1" }, lastApplied("{"))),
    apply(`${MAPS}/a?fieldManager=kubectl`, map({ k: "2" })),
    mergePatch(`${MAPS}/a?fieldManager=before`, {
      metadata: lastApplied({ ...map({ k: "1" }), apiVersion: "v2" }),
    }),
    apply(`${MAPS}/a?fieldManager=kubectl`, map({ k: "2" })),
  ),
];
