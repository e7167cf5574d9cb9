/**
 * HorizontalPodAutoscalers: how they scale by usage, and what they report when they cannot. Each story sets the
 * usage.
 */
import { ALL, spec, template, workload } from "./steps.ts";
import type { Step, Story } from "./story.ts";

/** An autoscaler syncs every 15 s. */
const LOOK: Step = { wait: 18_000 };

const REQUESTS = { cpu: "100m", memory: "100Mi" };

function target(replicas: number, requests: object = REQUESTS, kind = "Deployment"): Step {
  const containers = [{ name: "main", image: "app:1", resources: { requests } }];
  const sized = { replicas, template: template("app:1", { containers }) };
  return workload(kind, kind === "StatefulSet" ? { ...sized, serviceName: "web" } : sized);
}

function cpu(averageUtilization: number): object {
  return {
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
  };
}

function autoscaler(more: object = {}, name = "web"): Step {
  return {
    create: {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        minReplicas: 1,
        maxReplicas: 20,
        metrics: [cpu(50)],
        ...more,
      },
    },
  };
}

function pods(metric: object): object {
  return { metrics: [metric] };
}

export const AUTOSCALERS: readonly Story[] = [
  {
    name: "autoscaler-up-and-steady",
    steps: [
      target(2),
      ALL,
      { uses: "90m" },
      autoscaler(),
      LOOK,
      LOOK,
      ALL,
      { uses: "52m" },
      LOOK,
      { uses: "20m" },
      LOOK,
    ],
  },
  {
    name: "autoscaler-most",
    steps: [target(2), ALL, { uses: "400m" }, autoscaler({ maxReplicas: 3 }), LOOK],
  },
  { name: "autoscaler-fast", steps: [target(1), ALL, { uses: "900m" }, autoscaler(), LOOK] },
  {
    name: "autoscaler-policies-down",
    steps: [
      target(6),
      ALL,
      { uses: "10m" },
      autoscaler({
        behavior: {
          scaleDown: {
            stabilizationWindowSeconds: 0,
            policies: [{ type: "Pods", value: 2, periodSeconds: 600 }],
          },
        },
      }),
      LOOK,
      { gone: "all" },
      LOOK,
    ],
  },
  {
    name: "autoscaler-policies-up",
    steps: [
      target(4),
      ALL,
      { uses: "300m" },
      autoscaler({
        behavior: { scaleUp: { policies: [{ type: "Percent", value: 25, periodSeconds: 600 }] } },
      }),
      LOOK,
      ALL,
      { uses: "300m" },
      LOOK,
    ],
  },
  {
    name: "autoscaler-disabled-down",
    steps: [
      target(3),
      ALL,
      { uses: "10m" },
      autoscaler({
        behavior: { scaleDown: { stabilizationWindowSeconds: 0, selectPolicy: "Disabled" } },
      }),
      LOOK,
    ],
  },
  { name: "autoscaler-least", steps: [target(1), ALL, autoscaler({ minReplicas: 3 }), LOOK] },
  {
    name: "autoscaler-zero",
    steps: [target(0), autoscaler(), LOOK, spec("deployments", { replicas: 1 }), ALL, LOOK],
  },
  { name: "autoscaler-no-metrics", steps: [target(2), ALL, autoscaler(), LOOK] },
  {
    name: "autoscaler-no-request",
    steps: [target(1, { memory: "1Gi" }), ALL, { uses: "10m" }, autoscaler(), LOOK],
  },
  {
    name: "autoscaler-some-measured-up",
    steps: [target(4), ALL, { uses: "90m", count: 3 }, autoscaler(), LOOK],
  },
  {
    name: "autoscaler-some-measured-down",
    steps: [target(4), ALL, { uses: "10m", count: 3 }, autoscaler(), LOOK],
  },
  {
    name: "autoscaler-some-ready",
    steps: [target(3), { ready: "", count: 2 }, { uses: "100m" }, autoscaler(), LOOK],
  },
  {
    name: "autoscaler-some-break",
    steps: [target(3), ALL, { uses: "80m" }, { breaks: "app:1", count: 1 }, autoscaler(), LOOK],
  },
  {
    name: "autoscaler-memory",
    steps: [
      target(2, REQUESTS, "StatefulSet"),
      ALL,
      ALL,
      { uses: "150Mi", of: "memory" },
      autoscaler({
        scaleTargetRef: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" },
        metrics: [
          {
            type: "Resource",
            resource: { name: "memory", target: { type: "AverageValue", averageValue: "64Mi" } },
          },
        ],
      }),
      LOOK,
    ],
  },
  {
    name: "autoscaler-container",
    steps: [
      target(2),
      ALL,
      { uses: "90m" },
      autoscaler({
        metrics: [
          {
            type: "ContainerResource",
            containerResource: {
              name: "cpu",
              container: "main",
              target: { type: "Utilization", averageUtilization: 30 },
            },
          },
        ],
      }),
      LOOK,
    ],
  },
  {
    name: "autoscaler-two-metrics",
    steps: [
      target(2),
      ALL,
      { uses: "90m" },
      autoscaler({
        metrics: [
          cpu(50),
          {
            type: "Pods",
            pods: { metric: { name: "hits" }, target: { type: "AverageValue", averageValue: "5" } },
          },
        ],
      }),
      LOOK,
    ],
  },
  {
    name: "autoscaler-pods-metric",
    steps: [
      target(1),
      ALL,
      autoscaler(
        pods({
          type: "Pods",
          pods: { metric: { name: "hits" }, target: { type: "AverageValue", averageValue: "5" } },
        }),
      ),
      LOOK,
    ],
  },
  {
    name: "autoscaler-object-metric",
    steps: [
      target(1),
      ALL,
      autoscaler(
        pods({
          type: "Object",
          object: {
            metric: { name: "hits" },
            describedObject: { apiVersion: "v1", kind: "Service", name: "web" },
            target: { type: "Value", value: "5" },
          },
        }),
      ),
      LOOK,
    ],
  },
  {
    name: "autoscaler-external-metric",
    steps: [
      target(1),
      ALL,
      autoscaler(
        pods({
          type: "External",
          external: {
            metric: { name: "queue" },
            target: { type: "AverageValue", averageValue: "5" },
          },
        }),
      ),
      LOOK,
    ],
  },
  { name: "autoscaler-no-target", steps: [autoscaler(), LOOK] },
  {
    name: "autoscaler-unknown-kind",
    steps: [
      autoscaler({ scaleTargetRef: { apiVersion: "apps/v1", kind: "Robot", name: "web" } }),
      LOOK,
    ],
  },
  {
    name: "autoscaler-two",
    steps: [target(1), ALL, { uses: "90m" }, autoscaler(), autoscaler({}, "also"), LOOK, LOOK],
  },
];
