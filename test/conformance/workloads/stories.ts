/** What is told: rollouts, updates in order, daemons, jobs, drains. Images are the names of revisions. */
import type { Step, Story } from "./story.ts";

const LABELS = { app: "web" };

function template(image: string, pod: object = {}): object {
  return {
    metadata: { labels: LABELS },
    spec: { containers: [{ name: "main", image }], ...pod },
  };
}

function workload(kind: string, spec: object, image = "app:1"): Step {
  const apiVersion = kind === "Job" || kind === "CronJob" ? "batch/v1" : "apps/v1";
  const selector = kind === "Job" ? {} : { selector: { matchLabels: LABELS } };
  const metadata = { name: "web" };
  return {
    create: {
      apiVersion,
      kind,
      metadata,
      spec: { ...selector, template: template(image), ...spec },
    },
  };
}

function update(plural: string, image: string): Step {
  return spec(plural, { template: { spec: { containers: [{ name: "main", image }] } } });
}

function spec(plural: string, body: object): Step {
  return { patch: `${plural}/web`, with: { spec: body } };
}

function rolling(maxSurge: number | string, maxUnavailable: number | string): object {
  return { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } };
}

const ALL = { ready: "" } as const;

/** Lets a rollout of Deployments or sets run to its end: newcomers become ready, leavers go. */
function rounds(count: number): Step[] {
  return Array.from({ length: count }, (): Step[] => [ALL, { gone: "all" }]).flat();
}

function deployment(name: string, deploymentSpec: object, ...steps: Step[]): Story {
  const created = workload("Deployment", { replicas: 4, ...deploymentSpec });
  return { name: `deployment-${name}`, steps: [created, ALL, ...steps] };
}

const DEPLOYMENTS: readonly Story[] = [
  deployment("defaults", {}, update("deployments", "app:2"), ...rounds(4)),
  deployment("one-at-a-time", rolling(1, 0), update("deployments", "app:2"), ...rounds(5)),
  deployment("no-surge", rolling(0, 1), update("deployments", "app:2"), ...rounds(5)),
  deployment("halves", rolling("50%", "50%"), update("deployments", "app:2"), ...rounds(3)),
  deployment("all-at-once", rolling("100%", "100%"), update("deployments", "app:2"), ...rounds(2)),
  deployment(
    "rounding",
    { replicas: 3, ...rolling("25%", "25%") },
    update("deployments", "app:2"),
    ...rounds(4),
  ),
  deployment(
    "recreate",
    { strategy: { type: "Recreate" } },
    update("deployments", "app:2"),
    { gone: 2 },
    { gone: "all" },
    ALL,
  ),
  deployment(
    "stuck-and-undone",
    {},
    update("deployments", "app:bad"),
    { breaks: "app:1", count: 1 },
    update("deployments", "app:1"),
    { gone: "all" },
    ...rounds(2),
  ),
  deployment(
    "three-revisions",
    rolling(2, 1),
    update("deployments", "app:2"),
    { ready: "app:2", count: 1 },
    update("deployments", "app:3"),
    ...rounds(4),
    update("deployments", "app:1"),
    ...rounds(3),
  ),
  deployment(
    "resized-while-rolling",
    rolling(2, 1),
    update("deployments", "app:2"),
    { ready: "app:2", count: 1 },
    spec("deployments", { replicas: 10 }),
    spec("deployments", { replicas: 5 }),
    ...rounds(3),
  ),
  deployment(
    "paused",
    {},
    spec("deployments", { paused: true }),
    update("deployments", "app:2"),
    spec("deployments", { replicas: 6 }),
    spec("deployments", { paused: false }),
    ...rounds(4),
  ),
  deployment(
    "resized",
    {},
    spec("deployments", { replicas: 7 }),
    { breaks: "app:1", count: 2 },
    spec("deployments", { replicas: 3 }),
    { gone: "all" },
    spec("deployments", { replicas: 0 }),
    { gone: "all" },
  ),
  deployment(
    "history-limit",
    { replicas: 1, revisionHistoryLimit: 1 },
    update("deployments", "app:2"),
    ...rounds(2),
    update("deployments", "app:3"),
    ...rounds(2),
    update("deployments", "app:4"),
    ...rounds(2),
  ),
  deployment(
    "min-ready",
    { replicas: 2, minReadySeconds: 5, ...rolling(1, 0) },
    { wait: 6_000 },
    update("deployments", "app:2"),
    ALL,
    { wait: 6_000 },
    { gone: "all" },
    ALL,
    { wait: 6_000 },
  ),
  deployment(
    "deadline",
    { replicas: 1, progressDeadlineSeconds: 3 },
    update("deployments", "app:2"),
    { wait: 7_000 },
    ALL,
  ),
  deployment(
    "relabelled",
    { replicas: 2 },
    {
      patch: "deployments/web",
      with: { metadata: { annotations: { team: "x" }, labels: { team: "x" } } },
    },
    {
      patch: "deployments/web",
      with: { metadata: { annotations: { "kubernetes.io/change-cause": "why" } } },
    },
  ),
  deployment("orphaned", { replicas: 2 }, { delete: "deployments/web", cascade: "Orphan" }),
  deployment(
    "foreground",
    { replicas: 2 },
    { delete: "deployments/web", cascade: "Foreground" },
    { gone: "all" },
  ),
  deployment("pod-lost", {}, { evict: 1 }, ALL, { gone: "all" }, { end: "Failed", count: 1 }),
];

function statefulSet(name: string, setSpec: object, ...steps: Step[]): Story {
  const created = workload("StatefulSet", { replicas: 3, serviceName: "web", ...setSpec });
  return { name: `statefulset-${name}`, steps: [created, ...steps] };
}

function partition(at: number): object {
  return { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: at } } };
}

const STATEFUL_SETS: readonly Story[] = [
  statefulSet(
    "in-order",
    {},
    ALL,
    ALL,
    ALL,
    spec("statefulsets", { replicas: 1 }),
    { gone: "all" },
    { gone: "all" },
  ),
  statefulSet("update", {}, ALL, ALL, ALL, update("statefulsets", "app:2"), ...rounds(4)),
  statefulSet(
    "parallel",
    { podManagementPolicy: "Parallel" },
    ALL,
    update("statefulsets", "app:2"),
    ...rounds(4),
    spec("statefulsets", { replicas: 0 }),
    { gone: "all" },
  ),
  statefulSet(
    "partition",
    { podManagementPolicy: "Parallel", ...partition(2) },
    ALL,
    update("statefulsets", "app:2"),
    ...rounds(2),
    { evict: 1 },
    { gone: "all" },
    ALL,
    spec("statefulsets", partition(0)),
    ...rounds(3),
  ),
  statefulSet(
    "on-delete",
    { podManagementPolicy: "Parallel", updateStrategy: { type: "OnDelete" } },
    ALL,
    update("statefulsets", "app:2"),
    { evict: 1 },
    { gone: "all" },
    ALL,
  ),
  statefulSet(
    "undone",
    { podManagementPolicy: "Parallel" },
    ALL,
    update("statefulsets", "app:2"),
    { gone: "all" },
    update("statefulsets", "app:1"),
    ...rounds(3),
  ),
  statefulSet(
    "broken-update",
    {},
    ALL,
    ALL,
    ALL,
    update("statefulsets", "app:2"),
    { gone: "all" },
    { breaks: "app:1", count: 1 },
    ALL,
  ),
  statefulSet("pod-fails", {}, ALL, ALL, ALL, { end: "Failed", count: 1 }, { gone: "all" }, ALL),
  statefulSet("min-ready", { replicas: 2, minReadySeconds: 5 }, ALL, { wait: 6_000 }, ALL, {
    wait: 6_000,
  }),
  statefulSet(
    "history-limit",
    { replicas: 1, revisionHistoryLimit: 1 },
    ALL,
    update("statefulsets", "app:2"),
    ...rounds(2),
    update("statefulsets", "app:3"),
    ...rounds(2),
    update("statefulsets", "app:4"),
    ...rounds(2),
  ),
  statefulSet("starts-at-five", { ordinals: { start: 5 }, replicas: 2 }, ALL, ALL),
];

function node(name: string, nodeSpec: object = {}): Step {
  return {
    create: {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { story: name.slice(0, -2) } },
      spec: nodeSpec,
      status: { conditions: [{ type: "Ready", status: "True" }] },
    },
  };
}

/** Each story has nodes of its own. New nodes are tainted by the API server until somebody says otherwise. */
function daemonSet(name: string, setSpec: object, ...steps: Step[]): Story {
  const own = `ds-${name}`;
  const nodes = [1, 2, 3].flatMap((at): Step[] => [
    node(`${own}-${at}`),
    { patch: `nodes/${own}-${at}`, with: { spec: { taints: null } } },
  ]);
  const pod = template("app:1", { nodeSelector: { story: own } });
  const created = workload("DaemonSet", { template: pod, ...setSpec });
  return { name: `daemonset-${name}`, steps: [...nodes, created, ALL, ...steps] };
}

function rollingDaemons(rollingUpdate: object): object {
  return { updateStrategy: { type: "RollingUpdate", rollingUpdate } };
}

const DAEMON_SETS: readonly Story[] = [
  daemonSet("update", {}, update("daemonsets", "app:2"), ...rounds(4)),
  daemonSet(
    "two-unavailable",
    rollingDaemons({ maxUnavailable: 2 }),
    update("daemonsets", "app:2"),
    ...rounds(3),
  ),
  daemonSet(
    "surge",
    rollingDaemons({ maxSurge: 1, maxUnavailable: 0 }),
    update("daemonsets", "app:2"),
    ...rounds(4),
  ),
  daemonSet(
    "on-delete",
    { updateStrategy: { type: "OnDelete" } },
    update("daemonsets", "app:2"),
    { evict: 1 },
    { gone: "all" },
    ALL,
  ),
  daemonSet(
    "undone",
    {},
    update("daemonsets", "app:2"),
    { gone: "all" },
    update("daemonsets", "app:1"),
    ...rounds(3),
  ),
  daemonSet(
    "broken",
    {},
    { breaks: "app:1", count: 1 },
    update("daemonsets", "app:2"),
    ...rounds(3),
  ),
  daemonSet(
    "nodes",
    {},
    { patch: "nodes/ds-nodes-1", with: { spec: { unschedulable: true } } },
    { patch: "nodes/ds-nodes-2", with: { spec: { taints: [{ key: "a", effect: "NoExecute" }] } } },
    { gone: "all" },
    { patch: "nodes/ds-nodes-3", with: { metadata: { labels: { story: "other" } } } },
    { gone: "all" },
    { patch: "nodes/ds-nodes-2", with: { spec: { taints: null } } },
    ALL,
  ),
  daemonSet("pod-fails", {}, { end: "Failed", count: 1 }, { gone: "all" }, ALL),
];

function job(name: string, jobSpec: object, ...steps: Step[]): Story {
  const pod = template("app:1", { restartPolicy: "Never" });
  return {
    name: `job-${name}`,
    steps: [workload("Job", { template: pod, ...jobSpec }), ALL, ...steps],
  };
}

const onExitCode = (action: string, code: number): object => ({
  action,
  onExitCodes: { containerName: "main", operator: "In", values: [code] },
});

const JOBS: readonly Story[] = [
  job("one", {}, { end: "Succeeded" }),
  job(
    "three-of-two",
    { completions: 3, parallelism: 2 },
    { end: "Succeeded", count: 1 },
    ALL,
    { end: "Succeeded" },
    ALL,
    { end: "Succeeded" },
  ),
  job("queue", { parallelism: 3 }, { end: "Succeeded", count: 1 }, { end: "Succeeded" }),
  job("fails", { backoffLimit: 1 }, { end: "Failed" }, { wait: 11_000 }, ALL, { end: "Failed" }),
  job(
    "fails-with-others",
    { backoffLimit: 0, parallelism: 2, completions: 2 },
    { end: "Failed", count: 1 },
    { gone: "all" },
  ),
  job("ttl", { ttlSecondsAfterFinished: 4 }, { end: "Succeeded" }, { wait: 5_000 }),
  job(
    "deadline",
    { activeDeadlineSeconds: 20, parallelism: 2, completions: 2 },
    { wait: 20_000 },
    { gone: "all" },
  ),
  job(
    "suspended",
    { parallelism: 2, completions: 2 },
    spec("jobs", { suspend: true }),
    { gone: "all" },
    spec("jobs", { suspend: false }),
    ALL,
    { end: "Succeeded" },
  ),
  job(
    "wider-and-narrower",
    { parallelism: 2, completions: 6 },
    spec("jobs", { parallelism: 4 }),
    ALL,
    spec("jobs", { parallelism: 1 }),
    { gone: "all" },
  ),
  job(
    "indexed",
    { completionMode: "Indexed", completions: 3, parallelism: 2 },
    { end: "Succeeded", count: 1 },
    ALL,
    { end: "Failed", count: 1 },
    { wait: 11_000 },
    ALL,
    { end: "Succeeded" },
  ),
  job(
    "fail-policy",
    {
      backoffLimit: 6,
      parallelism: 2,
      completions: 2,
      podFailurePolicy: { rules: [onExitCode("FailJob", 42)] },
    },
    { end: "Failed", count: 1, exitCode: 42 },
    { gone: "all" },
  ),
  job(
    "ignore-policy",
    { backoffLimit: 0, podFailurePolicy: { rules: [onExitCode("Ignore", 42)] } },
    { end: "Failed", exitCode: 42 },
    ALL,
    { end: "Succeeded" },
  ),
  job("pod-lost", {}, { evict: 1 }, { gone: "all" }, ALL, { end: "Succeeded" }),
  job("deleted", { parallelism: 2, completions: 2 }, { delete: "jobs/web" }, { gone: "all" }),
];

function budget(budgetSpec: object): Step {
  const selector = { matchLabels: LABELS };
  const metadata = { name: "web" };
  return {
    create: {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata,
      spec: { selector, ...budgetSpec },
    },
  };
}

const DRAINS: readonly Story[] = [
  deployment("drain", {}, { evict: 4 }, ALL, { gone: "all" }),
  deployment(
    "drain-guarded",
    {},
    budget({ minAvailable: 3 }),
    { evict: 4 },
    ALL,
    { gone: "all" },
    { evict: 4 },
  ),
  deployment("drain-percent", {}, budget({ maxUnavailable: "50%" }), { evict: 4 }, ALL, {
    gone: "all",
  }),
  deployment(
    "drain-never",
    {},
    budget({ maxUnavailable: 0 }),
    { evict: 1 },
    { breaks: "app:1", count: 1 },
  ),
  statefulSet(
    "drain",
    { podManagementPolicy: "Parallel" },
    ALL,
    budget({ maxUnavailable: 1 }),
    { evict: 3 },
    { gone: "all" },
    ALL,
    { evict: 1 },
  ),
];

function cronJob(name: string, cronSpec: object, ...steps: Step[]): Story {
  const jobTemplate = { spec: { template: template("app:1", { restartPolicy: "Never" }) } };
  const created: Step = {
    create: {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "web" },
      spec: { schedule: "* * * * *", jobTemplate, ...cronSpec },
    },
  };
  return { name: `cronjob-${name}`, steps: [created, ...steps] };
}

/** A little after the full minute, when what was due has been made. */
const MINUTE = { minute: 3_000 } as const;

const CRON_JOBS: readonly Story[] = [
  cronJob("allow", {}, MINUTE, ALL, MINUTE, ALL, { end: "Succeeded" }),
  cronJob("forbid", { concurrencyPolicy: "Forbid" }, MINUTE, ALL, MINUTE, { end: "Failed" }),
  cronJob("replace", { concurrencyPolicy: "Replace" }, MINUTE, ALL, MINUTE, { gone: "all" }),
  cronJob(
    "history",
    { successfulJobsHistoryLimit: 1 },
    MINUTE,
    { ready: "" },
    { end: "Succeeded" },
    MINUTE,
    { ready: "" },
    { end: "Succeeded" },
    { patch: "cronjobs/web", with: { spec: { suspend: true } } },
    MINUTE,
  ),
];

function claim(name: string): Step {
  return {
    create: {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "none",
        resources: { requests: { storage: "1Gi" } },
      },
    },
  };
}

const VOLUMES: readonly Story[] = [
  {
    name: "claims-in-use",
    steps: [
      claim("used"),
      claim("unused"),
      {
        create: {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "holder" },
          spec: {
            nodeName: "n",
            containers: [{ name: "main", image: "app:1" }],
            volumes: [{ name: "data", persistentVolumeClaim: { claimName: "used" } }],
          },
        },
      },
      { delete: "persistentvolumeclaims/unused" },
      { delete: "persistentvolumeclaims/used" },
      { delete: "pods/holder" },
      { gone: "all" },
    ],
  },
];

const BACKEND_NODE = "service-node";

function backend(name: string): Step {
  const ports = [{ name: "metrics", containerPort: 9_090 }];
  return {
    create: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: LABELS },
      spec: { nodeName: BACKEND_NODE, containers: [{ name: "main", image: "app:1", ports }] },
    },
  };
}

function answers(name: string, ip: string, isReady: boolean): Step {
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
  const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions };
  return { patch: `pods/${name}/status`, with: { status } };
}

function service(name: string, serviceSpec: object, ...steps: Step[]): Story {
  const created: Step = {
    create: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", labels: { side: "front" } },
      spec: { selector: LABELS, ...serviceSpec },
    },
  };
  return { name: `service-${name}`, steps: [created, ...steps] };
}

/** Nobody else's pods come here. */
const SERVICE_NODE: Step = {
  create: {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: BACKEND_NODE, labels: { "topology.kubernetes.io/zone": "test-1a" } },
    spec: { taints: [{ key: "only", value: "services", effect: "NoSchedule" }] },
  },
};

const PORTS = [
  { name: "http", port: 80, targetPort: 8_080 },
  { name: "metrics", port: 81, targetPort: "metrics" },
];

const SERVICES: readonly Story[] = [
  service(
    "backends",
    { ports: PORTS },
    SERVICE_NODE,
    backend("a"),
    backend("b"),
    answers("a", "10.1.0.1", true),
    answers("b", "10.1.0.2", false),
    answers("b", "10.1.0.2", true),
    { delete: "pods/a" },
    { gone: "all" },
    { patch: "services/web", with: { metadata: { labels: { side: "back" } } } },
    { patch: "services/web", with: { spec: { ports: [{ port: 90 }] } } },
    { delete: "services/web" },
  ),
  service("headless", { clusterIP: "None" }, backend("a"), answers("a", "10.1.0.1", true), {
    patch: "pods/a",
    with: { metadata: { labels: { app: "other" } } },
  }),
];

export const STORIES: readonly Story[] = [
  ...DEPLOYMENTS,
  ...STATEFUL_SETS,
  ...DAEMON_SETS,
  ...JOBS,
  ...DRAINS,
  ...CRON_JOBS,
  ...VOLUMES,
  ...SERVICES,
];
