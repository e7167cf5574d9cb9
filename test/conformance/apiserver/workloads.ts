/** Deployments, pods and nodes: defaults, generation, subresources, and what may not change. */
import {
  AS_TABLE,
  type Check,
  check,
  del,
  get,
  mergePatch,
  post,
  put,
  strategicPatch,
} from "./check.ts";

const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";
const PODS = "/api/v1/namespaces/<<ns>>/pods";
const NODES = "/api/v1/nodes";
const CRON_JOBS = "/apis/batch/v1/namespaces/<<ns>>/cronjobs";
const JOBS = "/apis/batch/v1/namespaces/<<ns>>/jobs";
const BUDGETS = "/apis/policy/v1/namespaces/<<ns>>/poddisruptionbudgets";
const STATEFUL_SETS = "/apis/apps/v1/namespaces/<<ns>>/statefulsets";
const REPLICA_SETS = "/apis/apps/v1/namespaces/<<ns>>/replicasets";

/** The resource requests of a container. */
const ASKS = { requests: { cpu: "100m", memory: "64Mi" } };

function budget(spec: object): object {
  const selector = { matchLabels: { app: "a" } };
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "a" },
    spec: { selector, ...spec },
  };
}

function statefulSet(spec: object): object {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "a" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { containers: [{ name: "c", image: "i" }] },
      },
      ...spec,
    },
  };
}

function deployment(name: string, spec: object = {}): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "c", image: "busybox" }] },
      },
      ...spec,
    },
  };
}

function pod(
  name: string,
  spec: object = {},
  container: object = {},
  metadata: object = {},
): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: {
      // Without this field, the account's token is mounted as a volume with a random name.
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "busybox:1", ...container }],
      ...spec,
    },
  };
}

function node(name: string, spec: object = {}, more: object = {}): object {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels: { l: "1" } }, spec, ...more };
}

function cronJob(name: string, spec: object): object {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name },
    spec: { schedule: "0 0 * * *", jobTemplate: { spec: { template } }, ...spec },
  };
}

function job(name: string, podSpec: object): object {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name },
    spec: { template: { spec: { containers: [{ name: "c", image: "i" }], ...podSpec } } },
  };
}

export const WORKLOAD_CHECKS: readonly Check[] = [
  check(
    "RF-01",
    "workloads that are refused",
    post(CRON_JOBS, cronJob("a", { schedule: "bad" })),
    post(CRON_JOBS, cronJob("a", { schedule: "61 * * * *" })),
    post(CRON_JOBS, cronJob("a", { schedule: "0 0 * * MOO" })),
    post(CRON_JOBS, cronJob("a", { schedule: "" })),
    post(CRON_JOBS, cronJob("a", { schedule: "@hourly", timeZone: "Mars/Olympus" })),
    post(JOBS, job("a", { restartPolicy: "Always" })),
    post(JOBS, job("a", {})),
    post(BUDGETS, budget({ minAvailable: 1, maxUnavailable: 1 })),
    post(BUDGETS, budget({ minAvailable: -1 })),
    post(BUDGETS, budget({ maxUnavailable: "many" })),
    post(STATEFUL_SETS, statefulSet({})),
    mergePatch(`${STATEFUL_SETS}/a`, { spec: { serviceName: "b" } }),
    get(`${REPLICA_SETS}?fieldSelector=status.replicas%3D0`),
  ),
  check(
    "DP-01",
    "defaults of a Deployment; its generation counts changes of the spec",
    post(DEPLOYMENTS, deployment("a")),
    mergePatch(`${DEPLOYMENTS}/a`, { metadata: { labels: { l: "1" } } }),
    mergePatch(`${DEPLOYMENTS}/a`, { spec: { replicas: 3 } }),
    mergePatch(`${DEPLOYMENTS}/a`, { status: { replicas: 7 } }),
    mergePatch(`${DEPLOYMENTS}/a/status`, {
      spec: { replicas: 9 },
      status: { replicas: 3, observedGeneration: 2 },
    }),
    get(`${DEPLOYMENTS}/a/status`),
    get(`${DEPLOYMENTS}/a`, { headers: AS_TABLE }),
  ),
  check(
    "DP-02",
    "the scale of a Deployment",
    post(DEPLOYMENTS, deployment("a", { replicas: 2 })),
    get(`${DEPLOYMENTS}/a/scale`, { as: "scale" }),
    put(`${DEPLOYMENTS}/a/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: {
        name: "a",
        namespace: "<<ns>>",
        resourceVersion: "<<scale.metadata.resourceVersion>>",
      },
      spec: { replicas: 4 },
    }),
    put(`${DEPLOYMENTS}/a/scale`, {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: {
        name: "a",
        namespace: "<<ns>>",
        resourceVersion: "<<scale.metadata.resourceVersion>>",
      },
      spec: { replicas: 6 },
    }),
    mergePatch(`${DEPLOYMENTS}/a/scale`, { spec: { replicas: 0 } }),
    mergePatch(`${DEPLOYMENTS}/a/scale`, { spec: { replicas: -1 } }),
    get(`${DEPLOYMENTS}/b/scale`),
    get(`${DEPLOYMENTS}/a`),
  ),
  check(
    "DP-03",
    "Deployments that are refused",
    post(DEPLOYMENTS, deployment("a", { selector: undefined })),
    post(DEPLOYMENTS, deployment("a", { selector: { matchLabels: { app: "other" } } })),
    post(DEPLOYMENTS, deployment("a", { replicas: -1 })),
    post(
      DEPLOYMENTS,
      deployment("a", { template: { metadata: { labels: { app: "a" } }, spec: {} } }),
    ),
    post(
      DEPLOYMENTS,
      deployment("a", { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } }),
    ),
    post(
      DEPLOYMENTS,
      deployment("a", { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }),
    ),
    post(DEPLOYMENTS, deployment("a", { replicas: "three" })),
    post(DEPLOYMENTS, deployment("a")),
    mergePatch(`${DEPLOYMENTS}/a`, { spec: { selector: { matchLabels: { app: "b" } } } }),
    strategicPatch(`${DEPLOYMENTS}/a`, {
      spec: {
        template: {
          spec: {
            containers: [
              { name: "c", resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } },
            ],
          },
        },
      },
    }),
  ),
  check(
    "PO-01",
    "defaults of a pod",
    post(PODS, pod("a")),
    post(
      PODS,
      pod("b", {}, { image: "busybox", resources: { limits: { cpu: "0.5", memory: "1Gi" } } }),
    ),
    post(
      PODS,
      pod(
        "c",
        {
          terminationGracePeriodSeconds: 0,
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: "topology.kubernetes.io/zone",
              whenUnsatisfiable: "DoNotSchedule",
              labelSelector: { matchLabels: { app: "c" } },
            },
          ],
          volumes: [
            { name: "v", emptyDir: {} },
            { name: "w", configMap: { name: "m" } },
          ],
        },
        {
          ports: [{ containerPort: 80 }],
          livenessProbe: { httpGet: { port: 80 } },
          env: [{ name: "N", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
          resources: { requests: { cpu: "1500m", memory: "1073741824" }, limits: { cpu: 2 } },
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
        { labels: { app: "c" } },
      ),
    ),
    post(PODS, pod("d", { priorityClassName: "system-node-critical" })),
    post(PODS, pod("e", { priorityClassName: "not-there" })),
    get(PODS, { headers: AS_TABLE }),
  ),
  check(
    "PO-02",
    "pods that are refused",
    post(PODS, { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }),
    post(PODS, pod("a", { containers: [] })),
    post(PODS, pod("a", {}, { name: "Not_Ok" })),
    post(PODS, pod("a", {}, { image: "" })),
    post(PODS, pod("a", {}, { resources: { requests: { cpu: "much" } } })),
    post(PODS, pod("a", {}, { resources: { requests: { cpu: "-1" } } })),
    post(PODS, pod("a", {}, { resources: { requests: { "nvidia.com/gpu": "1" } } })),
    post(
      PODS,
      pod("a", {}, { resources: { requests: { memory: "2Gi" }, limits: { memory: "1Gi" } } }),
    ),
    post(PODS, pod("a", { restartPolicy: "Sometimes" })),
    post(PODS, pod("a", { nodeSelector: { "a b": "c" } })),
    post(PODS, pod("a", { tolerations: [{ operator: "Exists", value: "x" }] })),
    post(PODS, pod("a", { tolerations: [{ key: "k", effect: "Sometimes" }] })),
    post(PODS, pod("a", {}, { volumeMounts: [{ name: "none", mountPath: "/x" }] })),
    post(
      PODS,
      pod("a", {
        topologySpreadConstraints: [{ maxSkew: 0, topologyKey: "", whenUnsatisfiable: "Never" }],
      }),
    ),
    post(
      PODS,
      pod("a", {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "In" }] }],
            },
          },
        },
      }),
    ),
  ),
  check(
    "PO-03",
    "what may change in a pod",
    post(PODS, pod("a")),
    mergePatch(`${PODS}/a`, { spec: { nodeSelector: { a: "b" } } }),
    strategicPatch(`${PODS}/a`, { spec: { containers: [{ name: "c", image: "busybox:2" }] } }),
    strategicPatch(`${PODS}/a`, { spec: { tolerations: [{ key: "k", operator: "Exists" }] } }),
    mergePatch(`${PODS}/a`, { spec: { activeDeadlineSeconds: 100 } }),
    mergePatch(`${PODS}/a`, { spec: { nodeName: "n" } }),
    mergePatch(`${PODS}/a/status`, {
      status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
    }),
    get(`${PODS}/a`, { headers: AS_TABLE }),
  ),
  check(
    "PO-04",
    "a pod is bound once and ends with its grace",
    post(NODES, node("po-04-n")),
    post(PODS, pod("a")),
    post(`${PODS}/a/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "a" },
      target: { apiVersion: "v1", kind: "Node", name: "po-04-n" },
    }),
    post(`${PODS}/a/binding`, {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "a" },
      target: { apiVersion: "v1", kind: "Node", name: "po-04-n" },
    }),
    get(`${PODS}/a`),
    del(`${PODS}/a`),
    mergePatch(`${PODS}/a`, { metadata: { finalizers: ["x.example.com/y"] } }),
    del(`${PODS}/a`, { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 5 }),
    del(`${PODS}/a`, { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 }),
    get(`${PODS}/a`),
    post(PODS, pod("b")),
    del(`${PODS}/b`),
    get(`${PODS}/b`),
  ),
  check(
    "NO-01",
    "a node, its taints, its provider id and its status",
    post(
      NODES,
      node("no-01", { providerID: "x:///1", taints: [{ key: "k", effect: "NoSchedule" }] }),
    ),
    mergePatch(`${NODES}/no-01`, { spec: { providerID: "x:///2" } }),
    mergePatch(`${NODES}/no-01`, { spec: { unschedulable: true } }),
    mergePatch(`${NODES}/no-01`, { spec: { taints: [{ key: "k", effect: "Never" }] } }),
    mergePatch(`${NODES}/no-01`, {
      spec: { taints: [{ key: "k", value: "v", effect: "NoExecute" }] },
    }),
    mergePatch(`${NODES}/no-01`, {
      metadata: { labels: { l: "2" } },
      status: { capacity: { cpu: "9" } },
    }),
    strategicPatch(`${NODES}/no-01/status`, {
      status: {
        capacity: { cpu: "4000m", memory: "16Gi" },
        conditions: [{ type: "Ready", status: "True", reason: "R", message: "m" }],
      },
    }),
    strategicPatch(`${NODES}/no-01/status`, {
      status: {
        conditions: [{ type: "MemoryPressure", status: "False", reason: "R", message: "m" }],
      },
    }),
    get(`${NODES}/no-01`, { headers: AS_TABLE }),
    post(
      NODES,
      node("no-01-b", {}, { status: { capacity: { cpu: "2" }, allocatable: { cpu: "1930m" } } }),
    ),
    post(NODES, node("NO-01")),
    del(`${NODES}/no-01`),
    del(`${NODES}/no-01-b`),
  ),
  check(
    "PO-05",
    "a pod gets a token of its account, unless somebody wants none",
    post(PODS, { ...pod("plain"), spec: { containers: [{ name: "c", image: "x" }] } }),
    post(PODS, {
      ...pod("mounted"),
      spec: {
        initContainers: [{ name: "i", image: "x" }],
        containers: [
          {
            name: "c",
            image: "x",
            volumeMounts: [
              { name: "mine", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount" },
            ],
          },
        ],
        volumes: [{ name: "mine", emptyDir: {} }],
      },
    }),
    post("/api/v1/namespaces/<<ns>>/serviceaccounts", {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "closed" },
      automountServiceAccountToken: false,
    }),
    post(PODS, {
      ...pod("closed"),
      spec: { serviceAccountName: "closed", containers: [{ name: "c", image: "x" }] },
    }),
    post(PODS, {
      ...pod("lost"),
      spec: { serviceAccountName: "nobody", containers: [{ name: "c", image: "x" }] },
    }),
    post(`${PODS}/plain/exec?command=true&stdout=true`, undefined),
  ),
  check(
    "PO-06",
    "amounts of a whole pod: what is filled in, what is refused",
    post(PODS, pod("whole", { resources: { requests: { cpu: "2" } } }, { resources: ASKS })),
    post(PODS, pod("less", { resources: { requests: { cpu: "50m" } } }, { resources: ASKS })),
    post(PODS, pod("gpu", { resources: { requests: { "example.com/gpu": "1" } } })),
    post(PODS, pod("limited", { resources: { limits: { memory: "1Gi" } } }, { resources: ASKS })),
    post(PODS, pod("only", { resources: { limits: { cpu: "1" } } })),
    get(`${PODS}/only`),
  ),
];
