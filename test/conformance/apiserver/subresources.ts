/** Subresources: scale, eviction, binding, resize, ephemeral containers, tokens; and dry runs of each. */
import {
  AS_TABLE,
  apply,
  type Check,
  check,
  del,
  get,
  jsonPatch,
  mergePatch,
  post,
  put,
  strategicPatch,
} from "./check.ts";

const PODS = "/api/v1/namespaces/<<ns>>/pods";
const BINDINGS = "/api/v1/namespaces/<<ns>>/bindings";
const BUDGETS = "/apis/policy/v1/namespaces/<<ns>>/poddisruptionbudgets";
const APPS = "/apis/apps/v1/namespaces/<<ns>>";

function pod(name: string, more: object = {}, container: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: name } },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "x", ...container }],
      ...more,
    },
  };
}

function workload(kind: string, name: string): object {
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "c", image: "x" }] },
      },
    },
  };
}

function binding(name: string, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name },
    target: { apiVersion: "v1", kind: "Node", name: "n" },
    ...more,
  };
}

function eviction(name: string, more: object = {}): object {
  return { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, ...more };
}

const REQUESTS = { requests: { cpu: "100m", memory: "64Mi" } };

const resized = (resources: object, more: object = {}) => ({
  spec: { containers: [{ name: "c", resources, ...more }] },
});

const debug = (name: string, more: object = {}) => ({
  spec: { ephemeralContainers: [{ name, image: "busybox", ...more }] },
});

export const SUBRESOURCE_CHECKS: readonly Check[] = [
  check(
    "SU-01",
    "dry runs of all doors leave nothing behind",
    post(PODS, pod("a")),
    post(`${APPS}/deployments`, workload("Deployment", "a")),
    del(`${PODS}/a?dryRun=All`),
    del(`${PODS}/a`, { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["All"] }),
    del(`${PODS}?dryRun=All`),
    post(`${PODS}/a/binding?dryRun=All`, binding("a")),
    mergePatch(`${PODS}/a/status?dryRun=All`, { status: { phase: "Running" } }),
    put(`${PODS}/a?dryRun=All`, pod("a", {}, { image: "y" })),
    apply(`${PODS}/b?fieldManager=me&dryRun=All`, pod("b")),
    mergePatch(`${APPS}/deployments/a/scale?dryRun=All`, { spec: { replicas: 7 } }),
    post(`${PODS}/a/eviction`, eviction("a", { deleteOptions: { dryRun: ["All"] } })),
    del(`${PODS}/a`, { kind: "DeleteOptions", apiVersion: "v1", dryRun: ["Some"] }),
    get(`${PODS}/a`),
    get(`${APPS}/deployments/a`),
    get(`${PODS}/b`),
  ),
  check(
    "SU-02",
    "the scale of each kind that has one",
    ...["Deployment", "ReplicaSet", "StatefulSet"].flatMap((kind) => {
      const path = `${APPS}/${kind.toLowerCase()}s`;
      return [
        post(path, workload(kind, "a")),
        get(`${path}/a/scale`),
        put(`${path}/a/scale`, {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "a", namespace: "<<ns>>" },
          spec: { replicas: 4 },
        }),
        jsonPatch(`${path}/a/scale`, [{ op: "replace", path: "/spec/replicas", value: 2 }]),
        apply(`${path}/a/scale?fieldManager=me&force=true`, {
          apiVersion: "autoscaling/v1",
          kind: "Scale",
          metadata: { name: "a" },
          spec: { replicas: 5 },
        }),
        get(`${path}/a?includeObject=None`, { headers: AS_TABLE }),
      ];
    }),
    put(`${APPS}/deployments/a/scale`, { spec: { replicas: 1 } }),
    put(`${APPS}/deployments/a/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "b", namespace: "<<ns>>" },
      spec: { replicas: 4 },
    }),
    put(`${APPS}/deployments/a/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a", namespace: "<<ns>>", resourceVersion: "1" },
      spec: { replicas: 4 },
    }),
    mergePatch(`${APPS}/deployments/a/scale`, { spec: { replicas: -1 } }),
    get(`${APPS}/deployments/nobody/scale`),
    get(`${APPS}/daemonsets/nobody/scale`),
  ),
  check(
    "SU-03",
    "a pod is resized through its own door only",
    post(PODS, pod("a", {}, { resources: REQUESTS })),
    strategicPatch(`${PODS}/a`, resized({ requests: { cpu: "200m" } })),
    get(`${PODS}/a/resize`),
    strategicPatch(`${PODS}/a/resize`, resized({ requests: { cpu: "200m" } })),
    strategicPatch(`${PODS}/a/resize`, resized({ requests: { cpu: "200m" } }, { image: "y" })),
    strategicPatch(`${PODS}/a/resize`, resized({ limits: { cpu: "1" } })),
    strategicPatch(`${PODS}/a/resize`, resized({ requests: { cpu: "2" }, limits: { cpu: "1" } })),
    strategicPatch(`${PODS}/a/resize`, resized({ requests: { memory: null } })),
    strategicPatch(`${PODS}/a/resize`, resized({ requests: { "example.com/gpu": "1" } })),
    post(PODS, pod("g", {}, { resources: { limits: { cpu: "1", memory: "1Gi" } } })),
    strategicPatch(`${PODS}/g/resize`, resized({ requests: { cpu: "500m" } })),
    post(PODS, pod("none")),
    strategicPatch(`${PODS}/none/resize`, resized(REQUESTS)),
    strategicPatch(`${PODS}/nobody/resize`, resized(REQUESTS)),
  ),
  check(
    "SU-04",
    "ephemeral containers are added, and stay",
    post(PODS, pod("a", { nodeName: "su-04" })),
    post(PODS, pod("b", { ephemeralContainers: [{ name: "d", image: "x" }] })),
    get(`${PODS}/a/ephemeralcontainers`),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("d1", { targetContainerName: "c" })),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("d2", { stdin: true, tty: true })),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("d1", { image: "other" })),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("c")),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("d3", { resources: REQUESTS })),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("d3", { ports: [{ containerPort: 1 }] })),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, debug("d3", { targetContainerName: "e" })),
    mergePatch(`${PODS}/a/ephemeralcontainers`, { spec: { ephemeralContainers: null } }),
    strategicPatch(`${PODS}/a`, debug("d4")),
    mergePatch(`${PODS}/nobody/ephemeralcontainers`, debug("d")),
  ),
  check(
    "SU-05",
    "bindings of every kind",
    post(PODS, pod("a")),
    post(PODS, pod("gated", { schedulingGates: [{ name: "example.com/wait" }] })),
    post(`${PODS}/a/binding`, binding("b")),
    post(`${PODS}/a/binding`, binding("a", { target: { kind: "Pod", name: "n" } })),
    post(`${PODS}/a/binding`, binding("a", { target: { kind: "Node" } })),
    post(`${PODS}/gated/binding`, binding("gated")),
    post(`${PODS}/nobody/binding`, binding("nobody")),
    get(`${PODS}/a`),
    post(`${PODS}/a/binding`, binding("a")),
    get(`${PODS}/a/binding`),
  ),
  check(
    "SU-06",
    "evictions of every kind",
    post(PODS, pod("a", { nodeName: "n" })),
    mergePatch(`${PODS}/a/status`, {
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    }),
    get(`${PODS}/a/eviction`),
    post(`${PODS}/a/eviction`, {}),
    post(`${PODS}/a/eviction`, { ...eviction("a"), apiVersion: "policy/v1beta1" }),
    post(PODS, pod("c", { nodeName: "n" })),
    post(`${PODS}/c/eviction`, { ...eviction("c"), apiVersion: "v1", kind: "Pod" }),
    post(`${PODS}/c/eviction`, eviction("c", { deleteOptions: { propagationPolicy: "Up" } })),
    post(`${PODS}/c/eviction`, eviction("c", { deleteOptions: { gracePeriodSeconds: -1 } })),
    post(BUDGETS, {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "none" },
      spec: { maxUnavailable: 0, selector: {} },
    }),
    mergePatch(`${PODS}/c/status`, {
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    }),
    post(`${PODS}/c/eviction`, eviction("c")),
    mergePatch(`${PODS}/c/status`, { status: { phase: "Succeeded" } }),
    post(`${PODS}/c/eviction`, eviction("c")),
    get(`${PODS}/c`),
  ),
  check(
    "SU-07",
    "a status is applied, replaced and patched apart from its object",
    post(PODS, pod("a")),
    apply(`${PODS}/a/status?fieldManager=kubelet`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a" },
      status: { phase: "Running", conditions: [{ type: "x.com/a", status: "True" }] },
    }),
    apply(`${PODS}/a/status?fieldManager=other`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a", labels: { lost: "yes" } },
      spec: { nodeName: "n" },
      status: { conditions: [{ type: "x.com/b", status: "False" }] },
    }),
    apply(`${PODS}/a/status?fieldManager=other`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a" },
      status: { phase: "Failed" },
    }),
    strategicPatch(`${PODS}/a/status`, {
      status: { conditions: [{ type: "x.com/a", $patch: "delete" }] },
    }),
    put(`${PODS}/a/status`, { ...pod("a"), status: { phase: "Succeeded" } }),
    put(`${PODS}/a/status`, { ...pod("b"), status: { phase: "Succeeded" } }),
    apply(`${PODS}/unborn/status?fieldManager=me`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "unborn" },
      status: { phase: "Failed" },
    }),
    del(`${PODS}/a/status`),
    post(`${PODS}/a/status`, pod("a")),
    get(`${PODS}/a/status`, { headers: AS_TABLE }),
  ),
  check(
    "SU-08",
    "doors that are not there, and those into containers",
    post(PODS, pod("a")),
    get(`${PODS}/a/nothing`),
    get(`${PODS}/a/log`),
    get(`${PODS}/nobody/log`),
    post(`${PODS}/a/exec?command=ls&stdout=true`, undefined),
    post(`${PODS}/nobody/exec?command=ls`, undefined),
    post(`${PODS}/a/attach`, undefined),
    post(`${PODS}/a/portforward`, undefined),
    get(`${APPS}/deployments/a/rollback`),
    get("/api/v1/nodes/nobody/proxy/stats"),
  ),
  check(
    "SU-09",
    "labels that are sent through a pod's doors are let lie",
    post(PODS, pod("a", {}, { resources: REQUESTS })),
    strategicPatch(`${PODS}/a/resize`, {
      metadata: { labels: { lost: "yes" } },
      ...resized({ requests: { cpu: "200m" } }),
    }),
    strategicPatch(`${PODS}/a/ephemeralcontainers`, {
      metadata: { labels: { lost: "yes" } },
      ...debug("d"),
    }),
  ),
  check(
    "SU-10",
    "pods are bound through the collection of bindings, too",
    post(PODS, pod("a")),
    post(PODS, pod("b")),
    post(`${BINDINGS}?dryRun=All`, binding("a")),
    post(BINDINGS, binding("a", { metadata: { name: "a", annotations: { by: "us" } } })),
    post(BINDINGS, binding("a")),
    post(BINDINGS, binding("nobody")),
    post(BINDINGS, binding("b", { target: { kind: "Pod", name: "" } })),
    post(BINDINGS, binding("b", { metadata: {} })),
    post(BINDINGS, binding("b", { metadata: { name: "b", namespace: "elsewhere" } })),
    get(BINDINGS),
    get(`${BINDINGS}/a`),
    get(`${PODS}/a`),
  ),
];
