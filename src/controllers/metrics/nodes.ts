/**
 * Gauges of what each node has and carries, every five seconds for nodes that have changed, and how full
 * the cluster is. upstream: pkg/controllers/metrics/node/controller.go
 */

import { isOwnedByDaemonSet } from "../../apis/core/pod.ts";
import { podLimits } from "../../apis/core/pod-resources.ts";
import { WELL_KNOWN_LABELS } from "../../apis/karpenter/labels.ts";
import {
  addResources,
  NO_RESOURCES,
  type Resources,
  subtractResources,
} from "../../apis/resources.ts";
import type { MetricSpec } from "../../base/metrics.ts";
import type { NodeView } from "../../core/state/node-view.ts";
import { type Controller, type Outcome, requeueAfter } from "../../kube/controller.ts";
import type { World } from "../world.ts";

const POLL_MS = 5_000;

/** `topology.kubernetes.io/zone` → `zone`, `node.kubernetes.io/instance-type` → `instance_type`. */
function labelName(key: string): string {
  return key.slice(key.indexOf("/") + 1).replaceAll("-", "_");
}

const NODE_LABELS = ["node_name", "phase", "managed", ...WELL_KNOWN_LABELS.map(labelName)];

const GAUGES: Readonly<Record<string, string>> = {
  nodes_allocatable: "What pods may use of a node.",
  nodes_total_pod_requests: "What the pods of a node ask for, without daemons.",
  nodes_total_pod_limits: "What the pods of a node may use, without daemons.",
  nodes_total_daemon_requests: "What the daemons of a node ask for.",
  nodes_total_daemon_limits: "What the daemons of a node may use.",
  nodes_system_overhead: "What the system keeps of a node.",
};

export const NODE_GAUGE_METRICS: readonly MetricSpec[] = [
  ...Object.entries(GAUGES).map(([name, help]) => ({
    name,
    type: "gauge" as const,
    help,
    labels: [...NODE_LABELS, "resource_type"],
  })),
  {
    name: "cluster_utilization_percent",
    type: "gauge",
    help: "Requests of all pods as a share of what nodes can give.",
    labels: ["resource_type"],
  },
];

export function nodeMetrics(world: World): Controller {
  let seen = new Map<string, NodeView>();
  return {
    name: "metrics.node",
    watches: [],
    concurrency: 1,
    initialRequests: [{ kind: "", name: "metrics" }],
    reconcile: async (): Promise<Outcome> => {
      const views = world.cluster.nodes().filter(({ node }) => node !== undefined);
      const now = new Map(views.map((view) => [view.name, view]));
      for (const [name, before] of seen) if (now.get(name) !== before) forget(world, name);
      for (const [name, view] of now) if (seen.get(name) !== view) show(world, view);
      // Views are made anew only when something changed: the same one needs no second look.
      if (now.size !== seen.size || views.some((view) => seen.get(view.name) !== view))
        showUtilization(world, views);
      seen = now;
      return requeueAfter(POLL_MS);
    },
  };
}

function forget(world: World, name: string): void {
  for (const gauge in GAUGES) world.metrics.forget(gauge, { node_name: name });
}

function show(world: World, view: NodeView): void {
  const labels = labelsOf(view);
  const requests = subtractResources(view.allocatable, view.available);
  const amounts: Readonly<Record<string, Resources>> = {
    nodes_allocatable: view.allocatable,
    nodes_total_pod_requests: subtractResources(requests, view.daemonRequests),
    nodes_total_pod_limits: limits(view, false),
    nodes_total_daemon_requests: view.daemonRequests,
    nodes_total_daemon_limits: limits(view, true),
    nodes_system_overhead: subtractResources(view.capacity, view.allocatable),
  };
  for (const gauge in amounts) {
    const resources = amounts[gauge] as Resources;
    for (const name in resources) {
      if (name === "nodes") continue;
      world.metrics.set(
        gauge,
        { ...labels, resource_type: resourceType(name) },
        inUnits(resources, name),
      );
    }
  }
}

function limits(view: NodeView, daemons: boolean): Resources {
  return view.pods
    .filter((pod) => isOwnedByDaemonSet(pod) === daemons)
    .map((pod) => podLimits(pod))
    .reduce(addResources, NO_RESOURCES);
}

function labelsOf(view: NodeView): Record<string, string> {
  const labels: Record<string, string> = {
    node_name: view.name,
    phase: view.deleting ? "Terminating" : "Running",
    managed: String(view.managed),
  };
  for (const key of WELL_KNOWN_LABELS) labels[labelName(key)] = view.labels[key] ?? "";
  return labels;
}

function showUtilization(world: World, views: readonly NodeView[]): void {
  const sum = (of: (view: NodeView) => Resources) =>
    views.map(of).reduce(addResources, NO_RESOURCES);
  const allocatable = sum((view) => view.allocatable);
  const available = sum((view) => view.available);
  for (const name in allocatable) {
    const all = allocatable[name] ?? 0;
    if (all <= 0 || name === "nodes") continue;
    const percent = (100 * (all - (available[name] ?? 0))) / all;
    world.metrics.set(
      "cluster_utilization_percent",
      { resource_type: resourceType(name) },
      percent,
    );
  }
}

/** cpu in cores, everything else as counted. */
function inUnits(resources: Resources, name: string): number {
  return (resources[name] ?? 0) / (name === "cpu" ? 1_000 : 1);
}

function resourceType(name: string): string {
  return name.replaceAll("-", "_");
}
