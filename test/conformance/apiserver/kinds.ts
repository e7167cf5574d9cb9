/** One object of each kind that users make around Karpenter: its defaults, its first status, its columns. */
import { AS_TABLE, type Check, check, del, get, mergePatch, post, put } from "./check.ts";

const TEMPLATE = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "busybox:1" }] },
};
const SELECTOR = { matchLabels: { app: "a" } };

interface NamedObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: object };
  readonly [field: string]: unknown;
}

/** Creates the object, reads it as the table that kubectl shows, and deletes it. */
function kind(id: string, path: string, object: NamedObject): Check {
  const { name } = object.metadata;
  return check(
    id,
    `a ${object.kind}`,
    post(path, object),
    get(`${path}/${name}`, { headers: AS_TABLE }),
    del(`${path}/${name}`),
  );
}

const DAEMON_SETS = "/apis/apps/v1/namespaces/<<ns>>/daemonsets";
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/<<ns>>/endpointslices";

function daemonSet(spec: object): object {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "a" },
    spec: { selector: SELECTOR, template: TEMPLATE, ...spec },
  };
}

function slice(endpoints: readonly object[]): object {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "a" },
    addressType: "IPv4",
    endpoints,
    ports: [],
  };
}

export const KIND_CHECKS: readonly Check[] = [
  kind("KI-01", "/api/v1/namespaces/<<ns>>/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "a" },
    stringData: { k: "v" },
  }),
  kind("KI-02", "/api/v1/namespaces/<<ns>>/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a" },
    spec: { clusterIP: "None", selector: { app: "a" }, ports: [{ port: 80 }] },
  }),
  kind("KI-03", "/api/v1/namespaces/<<ns>>/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "a" },
  }),
  kind("KI-04", "/apis/apps/v1/namespaces/<<ns>>/statefulsets", {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "a" },
    spec: { serviceName: "a", selector: SELECTOR, template: TEMPLATE },
  }),
  kind("KI-05", "/apis/apps/v1/namespaces/<<ns>>/daemonsets", {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "a" },
    spec: { selector: SELECTOR, template: TEMPLATE },
  }),
  kind("KI-06", "/apis/apps/v1/namespaces/<<ns>>/replicasets", {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "a" },
    spec: { selector: SELECTOR, template: TEMPLATE },
  }),
  kind("KI-07", "/apis/policy/v1/namespaces/<<ns>>/poddisruptionbudgets", {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "a" },
    spec: { maxUnavailable: "50%", selector: SELECTOR },
  }),
  kind("KI-08", "/apis/scheduling.k8s.io/v1/priorityclasses", {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "ki-08" },
    value: 10,
  }),
  kind("KI-09", "/apis/storage.k8s.io/v1/storageclasses", {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "ki-09" },
    provisioner: "x.example.com",
  }),
  kind("KI-10", "/api/v1/namespaces/<<ns>>/persistentvolumeclaims", {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "a" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }),
  kind("KI-11", "/api/v1/persistentvolumes", {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "ki-11" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "1Gi" },
      csi: { driver: "x.example.com", volumeHandle: "v" },
    },
  }),
  kind("KI-12", "/apis/coordination.k8s.io/v1/namespaces/<<ns>>/leases", {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "a" },
    spec: { holderIdentity: "me", leaseDurationSeconds: 15 },
  }),
  kind("KI-13", "/api/v1/namespaces/<<ns>>/events", {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "a" },
    involvedObject: { kind: "Pod", name: "p", namespace: "<<ns>>" },
    reason: "R",
    message: "m",
    type: "Normal",
  }),
  kind("KI-14", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "ki-14" },
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
  }),
  kind("KI-15", "/apis/storage.k8s.io/v1/csinodes", {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name: "ki-15" },
    spec: { drivers: [{ name: "x.example.com", nodeID: "n", allocatable: { count: 5 } }] },
  }),
  kind("KI-16", "/apis/networking.k8s.io/v1/namespaces/<<ns>>/ingresses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "a" },
    spec: {
      ingressClassName: "c",
      tls: [{ hosts: ["a.example.com"], secretName: "s" }],
      rules: ["a", "b", "c", "d"].map((host) => ({
        host: `${host}.example.com`,
        http: {
          paths: [
            {
              path: "/",
              pathType: "Prefix",
              backend: { service: { name: "web", port: { number: 80 } } },
            },
          ],
        },
      })),
    },
  }),
  kind("KI-17", "/apis/networking.k8s.io/v1/ingressclasses", {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: {
      name: "ki-17",
      annotations: { "ingressclass.kubernetes.io/is-default-class": "true" },
    },
    spec: {
      controller: "example.com/controller",
      parameters: { apiGroup: "example.com", kind: "Parameters", name: "p" },
    },
  }),
  kind("KI-18", "/apis/networking.k8s.io/v1/namespaces/<<ns>>/networkpolicies", {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "a" },
    spec: {
      podSelector: { matchLabels: { app: "a" } },
      ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }],
      egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }],
    },
  }),
  kind("KI-19", "/apis/node.k8s.io/v1/runtimeclasses", {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "ki-19" },
    handler: "runsc",
    overhead: { podFixed: { cpu: "0.25" } },
  }),
  check(
    "KI-20",
    "an Ingress that is refused",
    post("/apis/networking.k8s.io/v1/namespaces/<<ns>>/ingresses", {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "a" },
      spec: {},
    }),
    post("/apis/networking.k8s.io/v1/namespaces/<<ns>>/ingresses", {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "a" },
      spec: {
        rules: [
          {
            http: {
              paths: [
                {
                  path: "x",
                  pathType: "Exact",
                  backend: { service: { name: "s", port: { number: 1 } } },
                },
              ],
            },
          },
        ],
      },
    }),
    post("/apis/networking.k8s.io/v1/namespaces/<<ns>>/ingresses", {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "a" },
      spec: {
        rules: [
          {
            http: {
              paths: [
                {
                  path: "/",
                  pathType: "Fuzzy",
                  backend: { service: { name: "s", port: { number: 1 } } },
                },
              ],
            },
          },
        ],
      },
    }),
  ),
  check(
    "KI-21",
    "a DaemonSet whose template changes: the number of its template is nobody's to change",
    post(DAEMON_SETS, daemonSet({})),
    mergePatch(`${DAEMON_SETS}/a?fieldManager=other`, {
      spec: { template: { metadata: { labels: { b: "c" } } } },
    }),
    mergePatch(`${DAEMON_SETS}/a?fieldManager=third`, { metadata: { labels: { b: "c" } } }),
    get(`${DAEMON_SETS}?includeObject=Object`, { headers: AS_TABLE }),
  ),
  check(
    "KI-22",
    "an Event by either of its groups",
    post("/apis/events.k8s.io/v1/namespaces/<<ns>>/events", {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "a" },
      regarding: { kind: "Pod", name: "p", namespace: "<<ns>>" },
      reason: "R",
      note: "m",
      type: "Normal",
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "example.com/c",
      reportingInstance: "i",
      action: "A",
    }),
    get("/api/v1/namespaces/<<ns>>/events/a"),
    mergePatch("/api/v1/namespaces/<<ns>>/events/a", { count: 2 }),
  ),
  check(
    "KI-23",
    "component statuses are only read",
    get("/api/v1/componentstatuses/etcd-0"),
    get("/api/v1/componentstatuses/nothing"),
    post("/api/v1/componentstatuses", { kind: "ComponentStatus", metadata: { name: "a" } }),
  ),
  check(
    "KI-24",
    "an EndpointSlice counts its changes, labels included",
    post(SLICES, slice([])),
    put(`${SLICES}/a`, slice([{ addresses: ["10.0.0.1"] }])),
    mergePatch(`${SLICES}/a`, { metadata: { labels: { a: "b" } } }),
    mergePatch(`${SLICES}/a`, { metadata: { annotations: { a: "b" } } }),
  ),
  check(
    "KI-25",
    "a claim that waits for its end, and a volume's status",
    post("/api/v1/namespaces/<<ns>>/persistentvolumeclaims", {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "a" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    }),
    del("/api/v1/namespaces/<<ns>>/persistentvolumeclaims/a"),
    del("/api/v1/namespaces/<<ns>>/persistentvolumeclaims/a"),
    mergePatch("/api/v1/namespaces/<<ns>>/persistentvolumeclaims/a", {
      metadata: { finalizers: null },
    }),
    get("/api/v1/namespaces/<<ns>>/persistentvolumeclaims/a"),
  ),
  check(
    "KI-26",
    "what is filled in of jobs, controllers and endpoints that say little",
    post("/apis/batch/v1/namespaces/<<ns>>/jobs", {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "a" },
      spec: { template: { spec: { ...TEMPLATE.spec, restartPolicy: "Never" } } },
    }),
    get("/apis/batch/v1/namespaces/<<ns>>/jobs/a"),
    post("/api/v1/namespaces/<<ns>>/replicationcontrollers", {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: { name: "a" },
      spec: { template: TEMPLATE },
    }),
    post("/api/v1/namespaces/<<ns>>/endpoints", {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { name: "a" },
      subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }],
    }),
    post(SLICES, { ...slice([]), ports: [{ port: 80 }] }),
  ),
  check(
    "KI-27",
    "drivers of volumes with names that nobody may have",
    post("/api/v1/persistentvolumes", diskVolume("example.com/disk")),
    post("/api/v1/persistentvolumes", diskVolume("")),
    post("/api/v1/persistentvolumes", diskVolume(`${"a".repeat(70)}.example.com`)),
    post("/apis/storage.k8s.io/v1/csinodes", {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSINode",
      metadata: { name: "ki-27" },
      spec: { drivers: [{ name: "example.com/disk", nodeID: "n" }] },
    }),
    post("/apis/storage.k8s.io/v1/csidrivers", {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: "example.com:disk" },
      spec: {},
    }),
  ),
  check(
    "KI-28",
    "roles without rules",
    post("/apis/rbac.authorization.k8s.io/v1/namespaces/<<ns>>/roles", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: "a" },
    }),
    post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: "ki-28" },
      rules: [],
    }),
    del("/apis/rbac.authorization.k8s.io/v1/clusterroles/ki-28"),
  ),
];

function diskVolume(driver: string): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "ki-27" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      csi: { driver, volumeHandle: "v" },
    },
  };
}
