/**
 * The stories of workloads: rollouts, ordered updates, DaemonSets, drains; joined with those of jobs and of
 * services.
 */
import { AUTOSCALERS } from "./autoscaler-stories.ts";
import { CRON_JOBS, JOBS } from "./job-stories.ts";
import { SERVICES, VOLUMES } from "./service-stories.ts";
import { ALL, LABELS, rolling, rounds, spec, template, update, workload } from "./steps.ts";
import type { Step, Story } from "./story.ts";

function deployment(name: string, deploymentSpec: object, ...steps: Step[]): Story {
  const created = workload("Deployment", { replicas: 4, ...deploymentSpec });
  return { name: `deployment-${name}`, steps: [created, ALL, ...steps] };
}

/** A pod requests more than the namespace's limit range allows, and then less. */
const REFUSED: Story = {
  name: "deployment-refused",
  steps: [
    {
      create: {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "web" },
        spec: { limits: [{ type: "Container", max: { cpu: "1" } }] },
      },
    },
    workload("Deployment", {
      replicas: 2,
      template: {
        metadata: { labels: LABELS },
        spec: {
          containers: [{ name: "main", image: "app:1", resources: { limits: { cpu: "2" } } }],
        },
      },
    }),
    update("deployments", "app:2"),
    ...rounds(2),
  ],
};

const DEPLOYMENTS: readonly Story[] = [
  REFUSED,
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

/** Each story has its own nodes. The API server adds a not-ready taint to new nodes, which the story removes. */
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

export const STORIES: readonly Story[] = [
  ...DEPLOYMENTS,
  ...STATEFUL_SETS,
  ...DAEMON_SETS,
  ...JOBS,
  ...DRAINS,
  ...CRON_JOBS,
  ...VOLUMES,
  ...SERVICES,
  ...AUTOSCALERS,
];
