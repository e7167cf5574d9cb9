/** HorizontalPodAutoscalers in v1 and v2: fields that one version lacks survive in the other. */
import { AS_TABLE, type Check, check, get, mergePatch, post } from "./check.ts";

const V1 = "/apis/autoscaling/v1/namespaces/<<ns>>/horizontalpodautoscalers";
const V2 = "/apis/autoscaling/v2/namespaces/<<ns>>/horizontalpodautoscalers";
const TARGET = { apiVersion: "apps/v1", kind: "Deployment", name: "a" };

function autoscaler(version: "v1" | "v2", name: string, spec: object): object {
  return {
    apiVersion: `autoscaling/${version}`,
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec: { scaleTargetRef: TARGET, ...spec },
  };
}

const CPU = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
};
const MEMORY = {
  type: "Resource",
  resource: { name: "memory", target: { type: "AverageValue", averageValue: "1Gi" } },
};
const REQUESTS = {
  type: "Pods",
  pods: {
    metric: { name: "requests", selector: { matchLabels: { a: "b" } } },
    target: { type: "AverageValue", averageValue: "5" },
  },
};

function cpuTarget(target: object): object {
  return { type: "Resource", resource: { name: "cpu", target } };
}

function tried(metric: object) {
  return post(`${V2}?dryRun=All`, autoscaler("v2", "m", { maxReplicas: 3, metrics: [metric] }));
}

function behaves(scaleDown: object) {
  const body = autoscaler("v2", "b", { maxReplicas: 3, behavior: { scaleDown } });
  return post(`${V2}?dryRun=All`, body);
}

export const AUTOSCALER_CHECKS: readonly Check[] = [
  check(
    "HP-01",
    "an autoscaler of version 2, seen as version 1, and changed there",
    post(V2, autoscaler("v2", "a", { maxReplicas: 3, metrics: [CPU, MEMORY, REQUESTS] })),
    get(`${V1}/a`),
    mergePatch(`${V1}/a`, { spec: { targetCPUUtilizationPercentage: 70 } }),
    get(`${V2}/a`),
    get(V2, { headers: AS_TABLE }),
    get(V1, { headers: AS_TABLE }),
  ),
  check(
    "HP-02",
    "an autoscaler of version 1, seen as version 2; defaults of both",
    post(V1, autoscaler("v1", "a", { maxReplicas: 3, targetCPUUtilizationPercentage: 50 })),
    get(`${V2}/a`),
    post(V1, autoscaler("v1", "b", { maxReplicas: 3 })),
    post(V2, autoscaler("v2", "c", { maxReplicas: 3 })),
    post(
      V2,
      autoscaler("v2", "d", {
        maxReplicas: 3,
        behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
      }),
    ),
    get(`${V1}/d`),
    mergePatch(`${V2}/c/status`, { status: { currentReplicas: 2, desiredReplicas: 3 } }),
    get(V2, { headers: AS_TABLE }),
  ),
  check(
    "HP-03",
    "autoscalers that are refused",
    post(V2, autoscaler("v2", "a", { minReplicas: 3, maxReplicas: 2 })),
    post(V2, autoscaler("v2", "a", { maxReplicas: 0 })),
    post(V2, autoscaler("v2", "a", { minReplicas: 0, maxReplicas: 1 })),
    post(V2, { ...autoscaler("v2", "a", {}), spec: { maxReplicas: 1, scaleTargetRef: {} } }),
  ),
  check(
    "HP-04",
    "metrics that are refused",
    tried({ type: "" }),
    tried({ type: "Robots" }),
    tried({ type: "Resource" }),
    tried({ type: "Resource", resource: { name: "", target: { type: "Utilization" } } }),
    tried(cpuTarget({ type: "Utilization", averageUtilization: 0 })),
    tried(cpuTarget({ type: "Nearly", averageUtilization: 5 })),
    tried(cpuTarget({ type: "AverageValue", averageValue: "0" })),
    tried(cpuTarget({ type: "AverageValue", averageValue: "1", averageUtilization: 5 })),
    tried({ ...CPU, pods: REQUESTS.pods }),
    tried({ type: "Pods", pods: { metric: { name: "" }, target: { type: "Value", value: "5" } } }),
    tried({
      type: "ContainerResource",
      containerResource: { name: "robots", container: "", target: { type: "Utilization" } },
    }),
    tried({
      type: "Object",
      object: { metric: { name: "a/b" }, describedObject: {}, target: { type: "Value" } },
    }),
    tried({
      type: "External",
      external: {
        metric: { name: "a" },
        target: { type: "Value", value: "5", averageValue: "-5" },
      },
    }),
    post(V1, autoscaler("v1", "z", { maxReplicas: 3, targetCPUUtilizationPercentage: 0 })),
    post(V2, autoscaler("v2", "z", { maxReplicas: 3, metrics: [] })),
  ),
  check(
    "HP-05",
    "behaviors that are refused",
    behaves({ stabilizationWindowSeconds: -1 }),
    behaves({ stabilizationWindowSeconds: 3601 }),
    behaves({ selectPolicy: "Some" }),
    behaves({ policies: [{ type: "Nodes", value: 0, periodSeconds: 0 }] }),
    behaves({ policies: [{ type: "Pods", value: 1, periodSeconds: 1801 }] }),
    behaves({}),
    post(
      V2,
      autoscaler("v2", "z", {
        maxReplicas: 1,
        scaleTargetRef: { apiVersion: "a/b/c", kind: "De/ployment", name: ".." },
      }),
    ),
  ),
];
