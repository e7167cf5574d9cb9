/** What a quota counts by scope, what it refuses and in which words, and which quotas are refused. */
import { AS_TABLE, type Check, check, del, get, mergePatch, post, type Step } from "./check.ts";

const QUOTAS = "/api/v1/namespaces/<<ns>>/resourcequotas";
const PODS = "/api/v1/namespaces/<<ns>>/pods";
const CONFIG_MAPS = "/api/v1/namespaces/<<ns>>/configmaps";
const SERVICES = "/api/v1/namespaces/<<ns>>/services";
const CLAIMS = "/api/v1/namespaces/<<ns>>/persistentvolumeclaims";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/<<ns>>/deployments";

type Amounts = Readonly<Record<string, string>>;
interface Resources {
  readonly requests?: Amounts;
  readonly limits?: Amounts;
}

function quota(name: string, hard: Amounts, more: object = {}): object {
  return { apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec: { hard, ...more } };
}

/** Waits until the quota controller has counted these amounts. */
function counted(name: string, used: Amounts): Step {
  const text = Object.entries(used).map(([resource, amount]) => `"${resource}":"${amount}"`);
  return get(`${QUOTAS}/${name}`, { untilText: `"used":{${text.join(",")}}` });
}

function container(name: string, resources?: Resources): object {
  return { name, image: "i", ...(resources === undefined ? {} : { resources }) };
}

function pod(name: string, resources?: Resources, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    // Without this field, the account's token is mounted as a volume with a random name.
    spec: {
      automountServiceAccountToken: false,
      containers: [container("c", resources)],
      ...spec,
    },
  };
}

function configMap(name: string): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
}

function service(name: string, type: "ExternalName" | "NodePort"): object {
  const spec =
    type === "NodePort"
      ? { ports: [{ port: 80, nodePort: 30_911 }] }
      : { externalName: "some.where", ports: [{ port: 80 }] };
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { type, ...spec } };
}

function claim(name: string, storage: string, storageClassName = "slow"): object {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName,
      resources: { requests: { storage } },
    },
  };
}

function deployment(name: string): object {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [container("c")] } },
    },
  };
}

export const QUOTA_CHECKS: readonly Check[] = [
  check(
    "QU-01",
    "objects are counted by kind, and one too many is refused",
    post(CONFIG_MAPS, configMap("before")),
    post(QUOTAS, quota("q", { configmaps: "2", "count/deployments.apps": "1", secrets: "0" })),
    counted("q", { configmaps: "1", "count/deployments.apps": "0", secrets: "0" }),
    post(CONFIG_MAPS, configMap("second")),
    counted("q", { configmaps: "2", "count/deployments.apps": "0", secrets: "0" }),
    post(CONFIG_MAPS, configMap("third")),
    post(`${CONFIG_MAPS}?dryRun=All`, configMap("third")),
    post(DEPLOYMENTS, deployment("first")),
    post(DEPLOYMENTS, deployment("second")),
    post("/api/v1/namespaces/<<ns>>/secrets", {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
    }),
    counted("q", { configmaps: "2", "count/deployments.apps": "1", secrets: "0" }),
    get(`${QUOTAS}/q`, { headers: AS_TABLE }),
    del(`${CONFIG_MAPS}/before`),
    counted("q", { configmaps: "1", "count/deployments.apps": "1", secrets: "0" }),
    post(CONFIG_MAPS, configMap("third")),
    mergePatch(`${QUOTAS}/q`, { spec: { hard: { configmaps: null, pods: "3" } } }),
    counted("q", { "count/deployments.apps": "1", pods: "0", secrets: "0" }),
    post(CONFIG_MAPS, configMap("fourth")),
  ),
  check(
    "QU-02",
    "what pods ask for is summed up, and each container has to say it",
    post(QUOTAS, quota("q", { "requests.cpu": "1", "limits.memory": "1Gi", pods: "2" })),
    counted("q", { "limits.memory": "0", pods: "0", "requests.cpu": "0" }),
    post(PODS, pod("nothing")),
    post(
      PODS,
      pod("some", undefined, {
        containers: [
          container("a", { requests: { cpu: "1m" } }),
          container("b", { limits: { memory: "1Mi" } }),
        ],
        initContainers: [container("i")],
      }),
    ),
    post(PODS, pod("fits", { requests: { cpu: "600m" }, limits: { memory: "600Mi" } })),
    post(PODS, pod("big", { requests: { cpu: "500m" }, limits: { memory: "500Mi" } })),
    post(
      PODS,
      pod(
        "init",
        { requests: { cpu: "100m" }, limits: { memory: "1Mi" } },
        {
          initContainers: [
            container("i", { requests: { cpu: "401m" }, limits: { memory: "1Mi" } }),
          ],
        },
      ),
    ),
    post(PODS, pod("small", { requests: { cpu: "0.4" }, limits: { memory: "128Mi" } })),
    post(PODS, pod("third", { requests: { cpu: "1m" }, limits: { memory: "1Mi" } })),
    counted("q", { "limits.memory": "728Mi", pods: "2", "requests.cpu": "1" }),
    mergePatch(`${PODS}/small`, { metadata: { labels: { any: "thing" } } }),
    del(`${PODS}/fits`),
    counted("q", { "limits.memory": "128Mi", pods: "1", "requests.cpu": "400m" }),
  ),
  check(
    "QU-03",
    "a pod that has ended asks for nothing, but is still an object",
    post(QUOTAS, quota("q", { pods: "1", "count/pods": "2", cpu: "1" })),
    counted("q", { "count/pods": "0", cpu: "0", pods: "0" }),
    post(PODS, pod("a", { requests: { cpu: "1" } })),
    post(PODS, pod("b", { requests: { cpu: "1" } })),
    mergePatch(`${PODS}/a/status`, { status: { phase: "Succeeded" } }),
    counted("q", { "count/pods": "1", cpu: "0", pods: "0" }),
    post(PODS, pod("b", { requests: { cpu: "1" } })),
    post(PODS, pod("c", { requests: { cpu: "0" } })),
  ),
  check(
    "QU-04",
    "a quota with scopes counts the pods that are in them",
    post(QUOTAS, quota("best", { pods: "1" }, { scopes: ["BestEffort"] })),
    post(QUOTAS, quota("ending", { pods: "0" }, { scopes: ["Terminating"] })),
    post(
      QUOTAS,
      quota(
        "critical",
        { pods: "0" },
        {
          scopeSelector: {
            matchExpressions: [
              { scopeName: "PriorityClass", operator: "In", values: ["system-node-critical"] },
            ],
          },
        },
      ),
    ),
    post(
      QUOTAS,
      quota(
        "rest",
        { "requests.cpu": "1" },
        {
          scopeSelector: {
            matchExpressions: [{ scopeName: "NotBestEffort", operator: "Exists" }],
          },
        },
      ),
    ),
    counted("best", { pods: "0" }),
    counted("ending", { pods: "0" }),
    counted("critical", { pods: "0" }),
    counted("rest", { "requests.cpu": "0" }),
    post(PODS, pod("best-a")),
    post(PODS, pod("best-b")),
    post(PODS, pod("more", { requests: { cpu: "2" } })),
    post(PODS, pod("no-cpu", { requests: { memory: "1Mi" } })),
    post(PODS, pod("ends", { requests: { cpu: "1" } }, { activeDeadlineSeconds: 5 })),
    post(
      PODS,
      pod("critical", { requests: { cpu: "1" } }, { priorityClassName: "system-node-critical" }),
    ),
    post(PODS, pod("good", { requests: { cpu: "1" } })),
    counted("best", { pods: "1" }),
    counted("rest", { "requests.cpu": "1" }),
  ),
  check(
    "QU-05",
    "services by type, claims by class and size, also when they change",
    post(
      QUOTAS,
      quota("q", {
        services: "2",
        "services.nodeports": "0",
        persistentvolumeclaims: "2",
        "requests.storage": "5Gi",
        "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
      }),
    ),
    get(`${QUOTAS}/q`, { untilText: '"used":{' }),
    post(SERVICES, service("a", "ExternalName")),
    post(SERVICES, service("b", "NodePort")),
    mergePatch(`${SERVICES}/a`, { spec: { type: "NodePort", externalName: null } }),
    post(CLAIMS, claim("a", "2Gi")),
    post(CLAIMS, claim("b", "4Gi")),
    post(CLAIMS, claim("b", "2Gi", "fast")),
    post(CLAIMS, claim("b", "1Gi", "fast")),
    get(`${QUOTAS}/q`),
  ),
  check(
    "QU-06",
    "each of several quotas counts, and the one that is exceeded speaks",
    post(QUOTAS, quota("b", { configmaps: "1" })),
    post(QUOTAS, quota("a", { configmaps: "5", "count/configmaps": "6" })),
    counted("a", { configmaps: "0", "count/configmaps": "0" }),
    counted("b", { configmaps: "0" }),
    post(CONFIG_MAPS, configMap("one")),
    post(CONFIG_MAPS, configMap("two")),
    counted("b", { configmaps: "1" }),
  ),
  check(
    "QU-07",
    "quotas that are refused",
    post(QUOTAS, quota("q", { pods: "-1" })),
    post(QUOTAS, quota("q", { pods: "1.5" })),
    post(QUOTAS, quota("q", { pods: "many" })),
    post(QUOTAS, quota("q", { things: "1" })),
    post(QUOTAS, quota("q", { "requests.cpu": "1" }, { scopes: ["BestEffort"] })),
    post(QUOTAS, quota("q", { pods: "1" }, { scopes: ["BestEffort", "NotBestEffort"] })),
    post(QUOTAS, quota("q", { pods: "1" }, { scopes: ["Nonsense"] })),
    post(QUOTAS, quota("q", { configmaps: "1" }, { scopes: ["Terminating"] })),
    post(
      QUOTAS,
      quota(
        "q",
        { pods: "1" },
        { scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In" }] } },
      ),
    ),
    post(
      QUOTAS,
      quota(
        "q",
        { pods: "1" },
        { scopeSelector: { matchExpressions: [{ scopeName: "BestEffort", operator: "In" }] } },
      ),
    ),
    post(QUOTAS, quota("q", { pods: "1" })),
    mergePatch(`${QUOTAS}/q`, { spec: { scopes: ["BestEffort"] } }),
  ),
  check(
    "QU-08",
    "only what every quota may bound must be in its scope",
    post(QUOTAS, quota("a", { "count/deployments.apps": "1" }, { scopes: ["BestEffort"] })),
    post(QUOTAS, quota("b", { "example.com/things": "1" }, { scopes: ["Terminating"] })),
    post(QUOTAS, quota("c", { "hugepages-2Mi": "1Gi" }, { scopes: ["NotBestEffort"] })),
    post(QUOTAS, quota("d", { "requests.storage": "1Gi" }, { scopes: ["VolumeAttributesClass"] })),
  ),
];
