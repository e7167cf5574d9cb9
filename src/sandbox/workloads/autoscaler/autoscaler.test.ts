/**
 * Autoscalers in a whole cluster: they follow a load up and down, and their conditions say why they cannot.
 */
import { afterEach, describe, expect, it } from "vitest";
import { DEPLOYMENT, type Deployment, STATEFUL_SET } from "../../../apis/apps/kinds.ts";
import {
  HORIZONTAL_POD_AUTOSCALER,
  type HorizontalPodAutoscaler,
} from "../../../apis/autoscaling/kinds.ts";
import { EVENT } from "../../../apis/core/kinds.ts";
import { deploymentOf, type PartsCluster, startParts } from "../../testing/parts-cluster.ts";

let cluster: PartsCluster | undefined;
afterEach(async () => {
  await cluster?.stop();
  cluster = undefined;
});

const MINUTE = 60_000;
const LOAD = "karpenter-ts.sandbox/cpu-load";

async function open(): Promise<PartsCluster> {
  cluster = await startParts();
  for (const name of ["a", "b", "c"]) cluster.node(name);
  await cluster.clock.advance(1_000);
  return cluster;
}

function autoscaler(name: string, spec: object = {}): unknown {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name, namespace: "default" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 2,
      maxReplicas: 10,
      metrics: [cpu(50)],
      ...spec,
    },
  };
}

function cpu(averageUtilization: number): object {
  return {
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
  };
}

async function load(cluster: PartsCluster, amount: string): Promise<void> {
  const body = { metadata: { annotations: { [LOAD]: amount } } };
  await cluster.kube.patch(
    DEPLOYMENT,
    { name: "web", namespace: "default" },
    { type: "merge", body },
  );
}

async function replicas(cluster: PartsCluster): Promise<number | undefined> {
  return (await cluster.get<Deployment>(DEPLOYMENT, "web")).spec.replicas;
}

function conditionsOf({ status }: HorizontalPodAutoscaler): Record<string, string> {
  return Object.fromEntries(
    (status?.conditions ?? []).map((one) => [one.type, `${one.status} ${one.reason}`]),
  );
}

async function eventsOf(cluster: PartsCluster): Promise<readonly string[]> {
  const { items } = await cluster.kube.list(EVENT, { namespace: "default" });
  return items
    .filter(({ involvedObject }) => involvedObject.kind === "HorizontalPodAutoscaler")
    .map(({ reason, message }) => `${reason}: ${message}`);
}

describe("a HorizontalPodAutoscaler", () => {
  it("follows a load up at once and down after five minutes, and reports it in events", async () => {
    const cluster = await open();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 2, "200m"));
    await load(cluster, "200m");
    await cluster.create(HORIZONTAL_POD_AUTOSCALER, autoscaler("web"));
    await cluster.clock.advance(2 * MINUTE);
    expect(await replicas(cluster)).toBe(2);
    let seen = await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web");
    expect(conditionsOf(seen)).toEqual({
      AbleToScale: "True ReadyForNewScale",
      ScalingActive: "True ValidMetricFound",
      ScalingLimited: "False DesiredWithinRange",
    });
    expect(seen.status?.currentMetrics).toEqual([
      {
        type: "Resource",
        resource: { name: "cpu", current: { averageUtilization: 50, averageValue: "100m" } },
      },
    ]);

    await load(cluster, "600m");
    await cluster.clock.advance(2 * MINUTE);
    expect(await replicas(cluster)).toBe(6);
    expect(await eventsOf(cluster)).toContain(
      "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target",
    );

    await load(cluster, "200m");
    await cluster.clock.advance(2 * MINUTE);
    expect(await replicas(cluster)).toBe(6);
    seen = await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web");
    expect(conditionsOf(seen)["AbleToScale"]).toBe("True ScaleDownStabilized");
    await cluster.clock.advance(4 * MINUTE);
    expect(await replicas(cluster)).toBe(2);
    expect(await eventsOf(cluster)).toContain(
      "SuccessfulRescale: New size: 2; reason: All metrics below target",
    );
  });

  it("stops at its bounds, and reports that it is limited", async () => {
    const cluster = await open();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 1, "200m"));
    await load(cluster, "5");
    await cluster.create(HORIZONTAL_POD_AUTOSCALER, autoscaler("web", { maxReplicas: 5 }));
    await cluster.clock.advance(20_000);
    expect(await replicas(cluster)).toBe(2);
    await cluster.clock.advance(3 * MINUTE);
    expect(await replicas(cluster)).toBe(5);
    const seen = await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web");
    expect(conditionsOf(seen)["ScalingLimited"]).toBe("True TooManyReplicas");
    expect(await eventsOf(cluster)).toContain(
      "SuccessfulRescale: New size: 2; reason: Current number of replicas below Spec.MinReplicas",
    );
  });

  it("scales down in the steps of its policies", async () => {
    const cluster = await open();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 8, "200m"));
    await load(cluster, "100m");
    const scaleDown = {
      stabilizationWindowSeconds: 0,
      policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
    };
    await cluster.create(HORIZONTAL_POD_AUTOSCALER, autoscaler("web", { behavior: { scaleDown } }));
    await cluster.clock.advance(65_000);
    expect(await replicas(cluster)).toBe(7);
    const seen = await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web");
    expect(conditionsOf(seen)["ScalingLimited"]).toBe("True ScaleDownLimit");
    await cluster.clock.advance(MINUTE);
    expect(await replicas(cluster)).toBe(6);
  });

  it("sizes StatefulSets by an average amount of memory, which is half of the requests by default", async () => {
    const cluster = await open();
    const set = deploymentOf("web", 1, "100m") as { kind: string; spec: Record<string, unknown> };
    set.kind = "StatefulSet";
    set.spec["serviceName"] = "web";
    set.spec["template"] = {
      metadata: { labels: { app: "web" } },
      spec: {
        containers: [{ name: "main", image: "pause", resources: { requests: { memory: "1Gi" } } }],
      },
    };
    await cluster.create(STATEFUL_SET, set);
    const memory = {
      type: "Resource",
      resource: { name: "memory", target: { type: "AverageValue", averageValue: "256Mi" } },
    };
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };
    await cluster.create(
      HORIZONTAL_POD_AUTOSCALER,
      autoscaler("web", { scaleTargetRef, minReplicas: 1, maxReplicas: 3, metrics: [memory] }),
    );
    await cluster.clock.advance(5 * MINUTE);
    expect((await cluster.get(STATEFUL_SET, "web")).spec.replicas).toBe(3);
    const seen = await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web");
    expect(seen.status?.currentMetrics).toEqual([
      { type: "Resource", resource: { name: "memory", current: { averageValue: "512Mi" } } },
    ]);
  });

  it.each([
    [
      "no request",
      { template: { containers: [{ name: "main", image: "pause" }] } },
      {},
      "FailedGetResourceMetric",
      "failed to get cpu utilization: missing request for cpu in container main of Pod web-",
    ],
    [
      "no target",
      {},
      { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "other" } },
      "FailedGetScale",
      'deployments.apps "other" not found',
    ],
    [
      "an unknown kind",
      {},
      { scaleTargetRef: { apiVersion: "apps/v1", kind: "Robot", name: "web" } },
      "FailedGetScale",
      'no matches for kind "Robot" in group "apps"',
    ],
    [
      "a metric of an adapter",
      {},
      {
        metrics: [
          {
            type: "Pods",
            pods: { metric: { name: "hits" }, target: { type: "AverageValue", averageValue: "5" } },
          },
        ],
      },
      "FailedGetPodsMetric",
      "unable to get metric hits: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
    ],
  ])(
    "with %s does not scale its target and creates a warning",
    async (_name, template, spec, reason, message) => {
      const cluster = await open();
      const { template: podSpec = {} } = template as { template?: object };
      await cluster.create(DEPLOYMENT, deploymentOf("web", 2, "100m", podSpec));
      await cluster.create(HORIZONTAL_POD_AUTOSCALER, autoscaler("web", spec));
      await cluster.clock.advance(2 * MINUTE);
      expect(await replicas(cluster)).toBe(2);
      const events = await eventsOf(cluster);
      expect(
        events.some((event) => event.startsWith(`${reason}: ${message}`)),
        events.join("\n"),
      ).toBe(true);
      const seen = conditionsOf(await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web"));
      expect(Object.values(seen)).toContain(`False ${reason}`);
    },
  );

  it("does not act if another one selects the same pods", async () => {
    const cluster = await open();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 2, "100m"));
    for (const name of ["one", "two"])
      await cluster.create(HORIZONTAL_POD_AUTOSCALER, autoscaler(name, { metrics: [cpu(10)] }));
    await cluster.clock.advance(2 * MINUTE);
    const seen = conditionsOf(await cluster.get(HORIZONTAL_POD_AUTOSCALER, "two"));
    expect(seen["ScalingActive"]).toBe("False AmbiguousSelector");
    expect(await eventsOf(cluster)).toContain(
      "AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: [default/one default/two]",
    );
  });

  it("does not act on a target with zero replicas", async () => {
    const cluster = await open();
    await cluster.create(DEPLOYMENT, deploymentOf("web", 0, "100m"));
    await cluster.create(HORIZONTAL_POD_AUTOSCALER, autoscaler("web"));
    await cluster.clock.advance(2 * MINUTE);
    expect(await replicas(cluster)).toBe(0);
    const seen = conditionsOf(await cluster.get(HORIZONTAL_POD_AUTOSCALER, "web"));
    expect(seen["ScalingActive"]).toBe("False ScalingDisabled");
  });
});
